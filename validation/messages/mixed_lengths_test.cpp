// Healthy ranks are not called slow because their samples have other lengths than those of other ranks.
#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class MixedLengths : public Simulate {
protected:
    // Returns the slowness per rank in each step of a run on four replicas; empty in steps without a slow rank.
    std::vector<std::vector<double>> find_slowness(const std::string& options) {
        const Outcome prepared = run("prepare --synthetic csn --count 300 --quiet --output csn.h5");
        EXPECT_EQ(prepared.code, 0) << prepared.err;
        write("abacus.json", abacus().dump());
        const Outcome outcome =
            run("simulate --cluster abacus.json --ranks 4 --math off --corpus csn.h5 --layers 2 --width 256 "
                "--heads 4 "
                "--positions 256 --data 4 --microbatches 2 --batch 24 --steps 60 --quiet --run-dir run " +
                options);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        std::vector<std::vector<double>> slowness;
        for (const json& step : steps("run")) slowness.push_back(step.value("slowness", std::vector<double>{}));
        return slowness;
    }
};

TEST_F(MixedLengths, DoNotHideOrFeignASlowRank) {
    const auto slowness = find_slowness("--length dynapipe --slow rank=2,factor=2,steps=20:39");

    ASSERT_EQ(slowness.size(), 60U);
    for (std::size_t step = 1; step <= slowness.size(); ++step) {
        const std::vector<double>& factors = slowness[step - 1];
        const bool must_be_named = step >= 29 && step < 40;
        const bool must_not_be_named = step < 20 || step >= 49;
        EXPECT_TRUE(factors.empty() ? !must_be_named : !must_not_be_named) << step;
        if (factors.empty()) continue;
        EXPECT_NEAR(factors[2], 2, 0.01) << step;
        for (const std::size_t healthy : {0U, 1U, 3U}) EXPECT_EQ(factors[healthy], 1) << step;
    }
}

}  // namespace
}  // namespace trireme::messages
