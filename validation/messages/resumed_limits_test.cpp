// Runs with --elastic length keep their memory limits when they are resumed.
#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class ResumedLimits : public Simulate {
protected:
    void SetUp() override {
        Simulate::SetUp();
        if (IsSkipped()) return;
        const Outcome prepared = run("prepare --synthetic csn --count 100 --quiet --output csn.h5");
        ASSERT_EQ(prepared.code, 0) << prepared.err;
        for (const std::size_t memory : {1'500'000U, 1'600'000U, 2'000'000U}) {
            json cluster = abacus();
            cluster["device"]["memory"] = memory;
            write(std::to_string(memory) + ".json", cluster.dump());
        }
        run_to_end(
            "--cluster 1600000.json --corpus csn.h5 --layers 2 --width 16 --heads 2 --positions 128 --pipe 2 "
            "--microbatches 4 --batch 8 --schedule gpipe --elastic length --steps 4 --checkpoint-every 2",
            "first");
    }

    void run_to_end(const std::string& options, const std::string& folder, int ranks = 2) const {
        const Outcome outcome = run("simulate --threads 1 --quiet --ranks " + std::to_string(ranks) + " " +
                                    options + " --run-dir " + folder);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    json read_limits(const std::string& folder) const {
        return json::parse(read(folder + "/manifest.json")).at("memory_limits");
    }
};

TEST_F(ResumedLimits, AreThoseOfTheFirstRunOnDevicesWithMoreMemory) {
    run_to_end("--cluster 2000000.json --resume first/checkpoints/step-2", "second");
    run_to_end("--cluster 2000000.json --resume second --steps 6", "third");

    EXPECT_EQ(read_limits("first"), json({1'600'000, 1'600'000}));
    EXPECT_EQ(read_limits("second"), read_limits("first"));
    EXPECT_EQ(read_limits("third"), read_limits("first"));
    const std::vector<json> all = steps("first");
    const std::vector<json> resumed = steps("second");
    for (const char* field : {"loss", "deficit_bytes", "recomputed_bytes"}) {
        const std::vector<json> values = each(all, field);
        EXPECT_EQ(each(resumed, field), std::vector<json>(values.begin() + 2, values.end())) << field;
    }
    EXPECT_GT(resumed.front().at("deficit_bytes"), 0);
}

TEST_F(ResumedLimits, AreReplacedByAnotherLimitOrNumberOfRanks) {
    run_to_end("--cluster 1500000.json --resume first/checkpoints/step-2 --memory-limit 1450000", "given");
    run_to_end("--cluster 2000000.json --resume first/checkpoints/step-2", "wide", 4);

    EXPECT_EQ(read_limits("given"), json({1'450'000, 1'450'000}));
    EXPECT_EQ(read_limits("wide"), json({2'000'000, 2'000'000, 2'000'000, 2'000'000}));
}

TEST_F(ResumedLimits, AreRefusedOnDevicesWithLessMemory) {
    const Outcome outcome =
        run("simulate --threads 1 --quiet --ranks 2 --cluster 1500000.json --resume first/checkpoints/step-2");

    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(
        outcome.err,
        "trireme: the resumed run had a memory limit of 1,600,000 bytes on rank 0, but only 1,500,000 bytes of "
        "the rank's device are free now; set a lower limit with --memory-limit\n");
}

TEST_F(ResumedLimits, AreRecordedOnlyIfStepsAreFitted) {
    run_to_end("--cluster 2000000.json --resume first --steps 6 --elastic off", "off");

    EXPECT_FALSE(json::parse(read("off/manifest.json")).contains("memory_limits"));
    EXPECT_FALSE(json::parse(read("off/checkpoints/step-6/state.json")).at("run").contains("memory_limits"));
    EXPECT_TRUE(json::parse(read("first/checkpoints/step-4/state.json")).at("run").contains("memory_limits"));
}

}  // namespace
}  // namespace trireme::messages
