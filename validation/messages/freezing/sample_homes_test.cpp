// Runs on several nodes whose samples have homes, so that each node caches its own samples only.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

// Two simulated nodes of two ranks, each of which is a replica.
class SampleHomes : public Stragglers {
protected:
    Outcome simulate_homes(const std::string& options) const {
        return run("simulate --ranks 4 --cluster double.json --data 4 " + std::string(options_) + options);
    }

    const char* options_ =
        "--corpus corpus.h5 --model gpt2-tiny --layers 2 --width 16 --heads 2 --dropout 0.1 --frozen 1 "
        "--dtype f64 --device reference --threads 1 --max-length 8 --long truncate --batch 12 --steps 10 ";
};

TEST_F(SampleHomes, GiveTheLossesOfOneRank) {
    const Outcome simulated = simulate_homes("--sample-homes 2 --cache on --run-dir nodes");
    ASSERT_EQ(simulated.code, 0) << simulated.err;
    ASSERT_EQ(run("train " + std::string(options_) + "--sample-homes 2 --run-dir rank").code, 0);
    ASSERT_EQ(run("train " + std::string(options_) + "--run-dir other").code, 0);

    EXPECT_LT(max_relative_difference(losses("nodes"), losses("rank")), 1e-10);
    EXPECT_GT(max_relative_difference(losses("other"), losses("rank")), 1e-3);  // the samples of steps differ

    // Each node reads each of its samples from the second epoch on.
    const std::string line = simulated.out.substr(simulated.out.find("\ncache "));
    const double samples = std::stod(line.substr(line.find(" of ") + 4));
    double misses = 0, hits_of_the_end = 0;
    for (const json& step : training_steps("nodes")) {
        misses += step["cache"]["misses"].get<double>();
        hits_of_the_end = step["cache"]["hits"].get<double>();
    }
    EXPECT_EQ(misses, samples);
    EXPECT_EQ(hits_of_the_end, 12);
}

TEST_F(SampleHomes, AreRecommendedOnSeveralNodes) {
    EXPECT_TRUE(has(simulate_homes("--cache on --run-dir one").out,
                    "; set --sample-homes 2 so that each node caches only its own samples"));
    EXPECT_FALSE(has(simulate_homes("--cache on --sample-homes 2 --run-dir two").out, "set --sample-homes"));
}

// A run on two nodes continues on one.
TEST_F(SampleHomes, StayTheSameInAResumedRun) {
    const std::string homes = "--sample-homes 2 --cache on ";
    ASSERT_EQ(simulate_homes(homes + "--checkpoint-every 7 --run-dir nodes").code, 0);
    const std::string resume = "train " + std::string(options_) + "--resume nodes/checkpoints/step-7 ";

    const Outcome resumed = run(resume + homes + "--run-dir resumed", 2);

    ASSERT_EQ(resumed.code, 0) << resumed.err;
    const std::vector<double> whole = losses("nodes");
    EXPECT_LT(max_relative_difference(losses("resumed"), std::vector(whole.begin() + 7, whole.end())), 1e-10);
    expect_refusal(resume + "--sample-homes 1",
                   {"was saved by a run with --sample-homes 2, not 1; use the same value"});
}

TEST_F(SampleHomes, NeedASampleEach) {
    expect_refusal("train " + std::string(options_) + "--sample-homes 10000",
                   {"--sample-homes 10000 needs at least one sample per home, but the corpus has "});
    expect_refusal("train " + std::string(options_) + "--sample-homes 0", {"--sample-homes"});
}

}  // namespace
}  // namespace trireme::messages
