// The message about a loss that is not finite names the origin of the value: rank, layer, micro-batch and step.
#include "messages/non_finite_model.hpp"

namespace trireme::messages {
namespace {

TEST_F(NonFinite, IsReportedWithRankLayerMicrobatchAndStep) {
    const Outcome outcome = train("--device cpu");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.err, std::string("trireme: step 1 has loss nan and gradient norm nan; first non-finite "
                                       "value: rank 0 (stage 0)") +
                               cause_of_nan + "; lower --lr, or skip such updates with --on-nan skip\n");
    const std::string record =
        std::string("\"non_finite\":\"first non-finite value: rank 0 (stage 0)") + cause_of_nan;
    EXPECT_NE(read("run/steps.jsonl").find(record), std::string::npos) << read("run/steps.jsonl");
    EXPECT_NE(read("run/summary.json").find("\"reason\": \"step 1 has loss nan"), std::string::npos)
        << read("run/summary.json");
}

// The step that searches for the value computes the frozen layers again.
TEST_F(NonFinite, IsReportedForAFrozenLayerWhoseOutputIsCached) {
    const Outcome outcome = train("--device cpu --frozen 2 --cache on");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(cause_of_nan), std::string::npos) << outcome.err;
}

// Rank 0 receives the NaN as a gradient, and is not named.
TEST_F(NonFinite, IsReportedForTheRankOfItsOriginInAPipeline) {
    const Outcome outcome = train("--device cpu --pipe 2", 2);

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(std::string("step 1 has loss nan and gradient norm nan; first non-finite value: "
                                           "rank 1 (stage 1)") +
                               cause_of_nan),
              std::string::npos)
        << outcome.err;
}

TEST_F(NonFinite, IsLocatedOnlyInTheFirstSkippedStep) {
    const Outcome outcome = train("--device cpu --on-nan skip");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string records = read("run/steps.jsonl");
    const std::size_t first = records.find("\"non_finite\"");
    ASSERT_NE(first, std::string::npos) << records;
    EXPECT_LT(first, records.find('\n'));
    EXPECT_EQ(records.find("\"non_finite\"", first + 1), std::string::npos) << records;
}

}  // namespace
}  // namespace trireme::messages
