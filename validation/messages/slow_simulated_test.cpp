// Ranks that are slowed down on purpose on a described cluster: the time of their kernels is multiplied
// exactly.
#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class SimulatedSlowRanks : public Simulate {
protected:
    // Returns the seconds in kernels per step and rank, on four ranks.
    std::vector<std::vector<double>> compute(const std::string& options) const {
        std::vector<std::vector<double>> seconds;
        for (const json& step : simulated("abacus.json", "--pipe 4 " + options))
            seconds.push_back(step.at("compute_s"));
        return seconds;
    }

    // Returns the records of both steps of a run on one rank.
    std::vector<json> run_on_one_rank(const std::string& options) const {
        const std::string folder = "alone-" + std::to_string(content().size());
        const Outcome outcome = run("simulate --ranks 1 --cluster thinker.json --run-dir " + folder + " " +
                                    of_train + "--recompute none " + options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        last_folder_ = folder;
        return steps(folder);
    }
};

// Returns the seconds of matmuls with weights, if memory and launches take no time: all seconds but those of
// attention. The latter follow from two figures. `mfu` counts 6 attention matmuls with the full square of
// scores, `mfu_causal` half as much. The kernels compute 7 of them over a triangle with its diagonal.
double seconds_of_matmuls(const json& step, double peak_flops) {
    constexpr double length = 32;  // tokens per sample
    const double half_of_six = step.at("mfu").get<double>() - step.at("mfu_causal").get<double>();
    const double attention_share = half_of_six * 7 / 6 * (1 + 1 / length);  // fraction of the peak
    const double seconds = step.at("seconds");
    EXPECT_GT(attention_share * peak_flops, 0);
    return seconds - attention_share * seconds;
}

TEST_F(SimulatedSlowRanks, CanBeSlowInMatmulsOnly) {
    json thinker = abacus();
    thinker["device"]["bandwidth"] = 1e30;
    thinker["device"]["launch"] = 0;
    write("thinker.json", thinker.dump());
    for (const std::string charge :
         {"--math on ", "--math off --charge kernels ", "--math off --charge passes "}) {
        const json healthy = run_on_one_rank(charge).at(1);
        const double peak = json::parse(read(last_folder_ + "/manifest.json")).at("peak_flops");
        const double matmuls = seconds_of_matmuls(healthy, peak);
        const double whole = healthy.at("seconds");
        ASSERT_LT(matmuls, 0.99 * whole) << charge;

        const double slow =
            run_on_one_rank(charge + "--slow rank=0,factor=2,on=products,steps=2").at(1).at("seconds");

        EXPECT_NEAR(slow, whole + matmuls, 1e-6 * whole) << charge;
    }
}

// Each step has a different slow rank, although costs were cached in the step before.
TEST_F(SimulatedSlowRanks, TakeTurns) {
    for (const std::string charge : {"--math off --charge kernels ", "--math off --charge passes "}) {
        const auto healthy = compute(charge);

        const auto slow = compute(charge + "--slow rank=turn,factor=3,every=1");

        for (std::size_t step = 0; step < 2; ++step) {
            for (std::size_t rank = 0; rank < 4; ++rank) {
                const double expected = (rank == step ? 3 : 1) * healthy[step][rank];
                EXPECT_NEAR(slow[step][rank], expected, 1e-9 * expected) << charge << step << rank;
            }
        }
    }
}

// A run without a corpus generates the samples of one step, so every step is an epoch.
TEST_F(SimulatedSlowRanks, ChangeWithEachEpochByDefault) {
    const std::string line =
        "simulate --math off --charge passes --ranks 4 --pipe 4 --model gpt2-tiny --vocabulary 257 --steps 3 "
        "--batch 4 --microbatches 4 --cluster abacus.json --slow rank=turn,factor=3";

    ASSERT_EQ(run(line + " --run-dir epochs").code, 0);
    ASSERT_EQ(run(line + ",every=1 --run-dir steps").code, 0);

    EXPECT_EQ(steps("epochs"), steps("steps"));
    EXPECT_NE(steps("epochs").at(0).at("compute_s"), steps("epochs").at(1).at("compute_s"));
}

TEST_F(SimulatedSlowRanks, AreDrawnByTheSeed) {
    const std::string charge = "--math off --charge passes ";
    const auto healthy = compute(charge);

    const auto slow = compute(charge + "--seed 4 --slow rank=random,factor=2:4,every=1");

    EXPECT_EQ(compute(charge + "--seed 4 --slow rank=random,factor=2:4,every=1"), slow);
    EXPECT_NE(compute(charge + "--seed 5 --slow rank=random,factor=2:4,every=1"), slow);
    for (std::size_t step = 0; step < 2; ++step) {
        int slowed = 0;
        for (std::size_t rank = 0; rank < 4; ++rank) {
            const double factor = slow[step][rank] / healthy[step][rank];
            if (factor < 1.5) {
                EXPECT_NEAR(factor, 1, 1e-9);
            } else {
                EXPECT_GE(factor, 2 - 1e-9);
                EXPECT_LE(factor, 4 + 1e-9);
                ++slowed;
            }
        }
        EXPECT_EQ(slowed, 1) << step;
    }
}

TEST_F(SimulatedSlowRanks, AreTheSameFromATraceAsFromOptions) {
    write("slow.csv", "step,rank,factor,on\n1,2,3,products\n2,2,1,\n2,1,2,all\n");
    for (const std::string charge : {"--math on ", "--math off --charge passes "}) {
        const auto by_options =
            compute(charge + "--slow rank=2,factor=3,steps=1,on=products;rank=1,factor=2,steps=2:");

        const auto by_trace = compute(charge + "--slow trace=slow.csv");

        EXPECT_EQ(by_trace, by_options) << charge;
        EXPECT_NEAR(by_trace[1][1], 2 * by_trace[0][1], 0.01 * by_trace[1][1]) << charge;
        EXPECT_GT(by_trace[0][2], 1.5 * by_trace[1][2]) << charge;
    }
}

}  // namespace
}  // namespace trireme::messages
