// Values of --length that do not suit a run are refused before the first step.
#include <algorithm>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class Lengths : public Workplace {
protected:
    void SetUp() override {
        const Outcome outcome = run("prepare --synthetic csn --count 60 --quiet --output corpus.h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    void expect_refusal(const std::string& options, const std::string& text) {
        const Outcome outcome = run("plan " + options);
        EXPECT_EQ(outcome.code, 2);
        EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    }

    static std::string small_model(const std::string& options) {
        return "--corpus corpus.h5 --batch 12 --layers 4 --width 24 --heads 3 --positions 48 " + options;
    }
};

TEST_F(Lengths, NeedTextsAndOneVersionOfTheWeights) {
    expect_refusal("--model vit-tiny --length balanced", "--length balanced is for texts of different lengths");
    expect_refusal(
        small_model("--length dynapipe --pipe 2 --tied off --schedule pipedream-2bw"),
        "--length dynapipe needs a schedule that computes all micro-batches of a step with the same weights");
}

TEST_F(Lengths, NeedMemoryForTheLongestSample) {
    expect_refusal(small_model("--length balanced --microbatches 12 --memory-limit 800000"),
                   "which exceeds the memory limit even alone: rank 0 needs ");
}

TEST_F(Lengths, NeedEnoughMicrobatchesForEachStepOfTheRun) {
    const std::string limited = small_model("--length balanced --memory-limit 2700000 --microbatches ");

    expect_refusal(limited + "1", "step 1 needs 3 micro-batches, because --memory-limit allows only ");
    EXPECT_EQ(run("plan " + limited + "12").code, 0);
}

TEST_F(Lengths, NeedAMemoryLimitThatEveryStepCanKeep) {
    const std::string elastic = small_model("--elastic length --pipe 2 --microbatches 6 ");

    expect_refusal("--model gpt2-tiny --elastic length --memory-limit 1GB",
                   "--elastic length depends on the lengths of samples; name their file with --corpus");
    expect_refusal(elastic,
                   "--elastic length fits each step into a memory limit, which CPUs do not have; set it "
                   "with --memory-limit");
    expect_refusal(
        elastic + "--memory-limit 100kB",
        " bytes for parameters, gradients and optimizer state alone, but its memory limit is 100,000 "
        "bytes");
    expect_refusal(elastic + "--memory-limit 500kB",
                   ", even with all possible recomputation and offload, but its memory limit is");
    expect_refusal(elastic + "--memory-limit 500kB --elastic-means recompute",
                   ", even with all possible recomputation, but its memory limit is");
    expect_refusal(elastic + "--memory-limit 1GB --tied off --schedule pipedream-2bw",
                   "with schedule pipedream-2bw the buffers of several steps are in use at once");
}

TEST_F(Lengths, NeedStateToOffload) {
    expect_refusal(small_model("--elastic-means recompute "),
                   "--elastic-means has no effect without steps that follow the lengths of samples; set "
                   "--elastic length or drop --elastic-means");
    expect_refusal(small_model("--elastic length --memory-limit 1GB --elastic-means offload --optimizer sgd "
                               "--momentum 0 --pipe 2 --microbatches 6 "),
                   "--elastic-means offload has nothing to work with, because the optimizer keeps no state");
    expect_refusal(small_model("--elastic length --memory-limit 1GB --elastic-means offload --move overlap "
                               "--straggler uneven --pipe 2 --microbatches 6 "),
                   "--elastic-means offload has nothing to work with, because with --move overlap the state "
                   "still moves while a step runs");
}

TEST_F(Lengths, NeedALayoutThatMayChange) {
    const std::string elastic = small_model("--elastic length --memory-limit 1GB --pipe 2 --microbatches 6 ");

    expect_refusal(
        elastic + "--elastic-rule published --straggler uneven",
        "--elastic-rule published does not support --straggler; use --elastic-rule ahead or --straggler off");
    expect_refusal(elastic + "--elastic-rule published --look-ahead 8",
                   "--look-ahead has no effect without layouts that follow the lengths of coming steps; set "
                   "--elastic length with --elastic-rule ahead or drop --look-ahead");
    expect_refusal(elastic + "--look-ahead 0", "--look-ahead expects a whole number of at least 1, not '0'");
    expect_refusal(elastic + "--elastic-means layout --schedule interleaved --chunks 2",
                   "--elastic-means layout cannot change the layout, because schedule interleaved puts "
                   "several stages on each rank");
    expect_refusal(elastic + "--straggler resize --tensor 2",
                   "--elastic length cannot be combined with a --straggler policy that divides matmuls anew, "
                   "because their memory and time are not planned step by step; use --straggler uneven "
                   "without --bridge");
    expect_refusal(elastic + "--elastic-means layout --recompute none,full",
                   "--elastic-means layout cannot change the layout, because --recompute has one value per "
                   "stage");
}

}  // namespace
}  // namespace trireme::messages
