// Clocks of --energy in runs with a slow rank.
#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class SlowClocks : public Simulate {
protected:
    // Trains on four V100 in a pipeline. `slow` says how slow rank 1 is, and in which steps.
    void simulate(const std::string& folder, const std::string& slow, const std::string& options) const {
        const Outcome outcome =
            run("simulate --math off --quiet --ranks 4 --cluster " TRIREME_SOURCE_DIR
                "/perf/clusters/v100-x8.json --model gpt2 --vocabulary 16384 --max-length 512 --pipe 4 "
                "--microbatches 8 --batch 8 --slow rank=1," +
                slow + " --run-dir " + folder + " " + options);
        ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    }

    // Returns the changes of plan that a policy has decided.
    std::vector<json> changes(const std::string& folder, const std::string& policy) const {
        std::vector<json> changes = decisions(folder);
        std::erase_if(changes, [&](const json& line) { return line.value("policy", "") != policy; });
        return changes;
    }

    // Rank 1 alone is reported as slow.
    void expect_healthy_ranks(const std::string& folder) const {
        for (const json& line : steps(folder)) {
            if (!line.contains("slowness")) continue;
            for (const std::size_t rank : {0, 2, 3}) {
                EXPECT_EQ(line.at("slowness").at(rank), 1) << line.at("step");
            }
        }
    }

    static bool has_clock_below_the_highest(const json& clocks, std::size_t stage) {
        const std::string of_stage = clocks.at(stage);
        return of_stage.find_first_not_of("0123456789*") != std::string::npos;
    }
};

constexpr const char* of_envpipe = "--schedule envpipe --energy envelope --reconfigure balanced ";

// The other ranks slow down to the pace of the slow one, and return to their clocks when it recovers.
TEST_F(SlowClocks, FollowTheSlowRank) {
    simulate("plain", "factor=2,steps=61:160", "--steps 160");
    simulate("run", "factor=2,steps=61:160", of_envpipe + std::string("--steps 220"));

    const std::vector<json> made = changes("run", "energy");
    ASSERT_EQ(made.size(), 2U);
    EXPECT_EQ(made[0].at("reason"), "rank 1 takes 2.0 times as long as others");
    EXPECT_EQ(made[1].at("reason"), "no rank is slow any more");
    for (std::size_t stage = 0; stage < 4; ++stage) {
        EXPECT_EQ(has_clock_below_the_highest(made[0].at("clocks"), stage), stage != 1) << made[0];
        EXPECT_EQ(has_clock_below_the_highest(made[1].at("clocks"), stage), stage != 3) << made[1];
    }
    const json slow = steps("run").at(159);
    const json plain = steps("plain").at(159);
    EXPECT_LE(slow.at("seconds"), 1.01 * plain.at("seconds").get<double>());
    EXPECT_LE(slow.at("energy_j"), 0.82 * plain.at("energy_j").get<double>());
    expect_healthy_ranks("run");
}

// First the clocks change, then also the layout. When the rank recovers, both return.
TEST_F(SlowClocks, ChangeTogetherWithTheLayout) {
    simulate("run", "factor=3,steps=61:120", of_envpipe + std::string("--steps 180 --straggler uneven"));

    const std::vector<json> clocks = changes("run", "energy");
    const std::vector<json> layouts = changes("run", "uneven");
    ASSERT_FALSE(clocks.empty());
    ASSERT_GE(layouts.size(), 2U);
    EXPECT_LT(clocks.front().at("step"), layouts.front().at("step"));
    for (const json& change : layouts) {
        EXPECT_EQ(change.at("clocks").size(), 4U);
        EXPECT_GT(change.at("terms").at("moved_bytes"), 0);
    }
    EXPECT_NE(layouts.front().at("layout"), clocks.front().at("layout"));
    EXPECT_EQ(layouts.back().at("layout"), clocks.front().at("layout"));
    expect_healthy_ranks("run");
}

}  // namespace
}  // namespace trireme::messages
