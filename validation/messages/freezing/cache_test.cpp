// Runs with a cache of the outputs of frozen layers: what they print, count and refuse.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

class Cache : public Stragglers {
protected:
    Outcome train_frozen(const std::string& options, int ranks = 0) const {
        return run("train " + std::string(of_model) + "--frozen 1 --log-every 1 " + options, ranks);
    }
};

TEST_F(Cache, IsShownByTheHeaderAndByEachStep) {
    const Outcome outcome =
        train_frozen("--epochs 2 --long truncate --cache on --run-dir run --trace 2:7 --trace-kernels on", 2);

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "\ncache     up to ")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, " MB per node: ")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "  frozen 1/2, cache 0 %  ")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "  frozen 1/2, cache 100 %  ")) << outcome.out;
    for (const char* const copy : {"\"write to cache\"", "\"read from cache\""})
        EXPECT_TRUE(has(read("run/trace.json"), copy)) << copy;
}

// The entries that fit are the same in every epoch.
TEST_F(Cache, HoldsTheSamplesThatFit) {
    const Outcome outcome = train_frozen("--epochs 4 --cache on --cache-memory 40kB --run-dir run");

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<json> all = training_steps("run");
    double hits = 0, misses = 0;
    for (const json& step : all) {
        hits += step["cache"]["hits"].get<double>();
        misses += step["cache"]["misses"].get<double>();
        EXPECT_LE(step["cache"]["bytes"], 40'000);
    }
    const std::string line = outcome.out.substr(outcome.out.find("\ncache "));
    const std::size_t placed = std::stoul(line.substr(line.find("node: ") + 6));
    const std::size_t samples = std::stoul(line.substr(line.find(" of ") + 4));
    EXPECT_GT(placed, 0U);
    EXPECT_LT(placed, samples);
    // The last step may visit samples of a fifth epoch.
    const double extra_visits = hits + misses - 4 * static_cast<double>(samples);
    EXPECT_GE(hits, 3 * static_cast<double>(placed));
    EXPECT_LE(hits, 3 * static_cast<double>(placed) + extra_visits);
}

TEST_F(Cache, IsRefusedWhereItCannotBeExact) {
    const std::string training = "--steps 3 " + std::string(of_model);

    write("words.txt", "one\n\ntwo\n\nthree\n");
    const Outcome prepared = run("prepare words.txt --special-tokens bert --quiet --output words.h5");
    ASSERT_EQ(prepared.code, 0) << prepared.err;
    expect_refusal("train --cache on --task masked --model bert-tiny --corpus words.h5 --steps 3",
                   {"--cache cannot be combined with --task masked, whose samples differ between epochs"});
    expect_refusal("train --cache-memory 1GB --frozen 1 " + training, {"--cache-memory", "--cache on"});
    const std::string simulated =
        "simulate --ranks 4 --cluster double.json --math off --cache on --frozen 1 --steps 3 --corpus "
        "corpus.h5 ";
    expect_refusal(simulated + "--tensor 2",
                   {"--cache cannot be combined with --math off and tensor parallelism"});
    write("teams.json",
          R"({"layers": 11, "stages": [{"layers": [0, 11], "replicas": [{"ranks": [0, 1, 2, 3]}]}]})");
    expect_refusal(simulated + "--layout teams.json",
                   {"--cache cannot be combined with --math off and tensor parallelism"});
    expect_refusal(simulated + "--charge passes", {"--cache cannot be combined with --charge passes"});
}

// The samples that are computed apart from the others need memory.
TEST_F(Cache, CountsForTheMemoryLimit) {
    const std::string options = "--steps 1 --frozen 1 --recompute full --dry-run --memory-limit ";
    const Outcome refused = run("train " + std::string(of_model) + options + "1");
    ASSERT_EQ(refused.code, 2) << refused.err;
    std::string needed = refused.err.substr(refused.err.find("needs ") + 6);
    needed.resize(needed.find(" bytes"));
    std::erase(needed, ',');

    EXPECT_EQ(run("train " + std::string(of_model) + options + needed).code, 0);
    expect_refusal("train " + std::string(of_model) + options + needed + " --cache on",
                   {"rank 0 needs ", "--memory-limit"});
}

// From the second epoch on, the first stage computes nothing. It counts neither as slow nor as fast, and a slow
// rank of the second stage is found as without a cache.
TEST_F(Cache, MakesNoRankSlow) {
    const std::string options =
        "simulate --ranks 4 --cluster double.json --pipe 2 --partition 2,2 --steps 60 --long truncate " +
        std::string(of_model) + "--frozen 1 --cache on --straggler uneven --look-every 5 ";
    const Outcome equal = run(options + "--run-dir equal");
    ASSERT_EQ(equal.code, 0) << equal.err;
    for (const json& step : training_steps("equal")) EXPECT_FALSE(step.contains("slowness")) << step["step"];
    EXPECT_EQ(training_steps("equal").back()["cache"]["misses"], 0);

    const Outcome slow = run(options + "--slow rank=3,factor=4,steps=30:60 --run-dir slow");
    ASSERT_EQ(slow.code, 0) << slow.err;
    const std::vector<double> slowness = training_steps("slow").back().at("slowness");
    EXPECT_NEAR(slowness[3], 4, 0.2);
    for (const std::size_t rank : {0, 1, 2}) EXPECT_EQ(slowness[rank], 1);
}

// Also blocks that freeze during the run, and a limit for a part of the samples. Predictions count the cache,
// too.
TEST_F(Cache, TakesTheSameTimeInSimulationsWithoutValues) {
    const std::string options =
        "simulate --ranks 4 --cluster double.json --corpus corpus.h5 --model gpt2-tiny --layers 4 --width 64 "
        "--heads 4 --max-length 16 --long truncate --batch 8 --steps 24 --length fixed --freeze schedule "
        "--freeze-alpha 0.5 --freeze-every 5 --threads 1 ";
    for (const char* way :
         {"--pipe 2 --data 2 --microbatches 2 --cache on", "--data 4 --cache on --sample-homes 2",
          "--data 4 --cache on --sample-homes 2 --cache-memory 60kB"}) {
        const Outcome with_values = run(options + way + " --run-dir values");
        const Outcome without_values = run(options + way + " --math off --run-dir none");
        ASSERT_EQ(with_values.code, 0) << with_values.err;
        ASSERT_EQ(without_values.code, 0) << without_values.err;
        const std::vector<json> expected = steps("values"), found = steps("none");
        ASSERT_EQ(found.size(), 24U);
        for (std::size_t s = 0; s < found.size(); ++s) {
            EXPECT_EQ(found[s].value("cache", json()), expected[s].value("cache", json())) << way << s;
            EXPECT_EQ(found[s]["layer_passes"], expected[s]["layer_passes"]) << way << s;
            EXPECT_NEAR(found[s]["seconds"], expected[s]["seconds"],
                        0.02 * expected[s]["seconds"].get<double>())
                << way << s;
        }
        EXPECT_GT(found.back()["cache"]["hits"], 0);
        std::filesystem::remove_all(path("values"));
        std::filesystem::remove_all(path("none"));
    }
}

TEST_F(Cache, SaysThatNothingIsFrozen) {
    const Outcome outcome = run("train --cache on --steps 3 " + std::string(of_model));

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "\ncache     nothing to do, because nothing is frozen\n")) << outcome.out;
}

}  // namespace
}  // namespace trireme::messages
