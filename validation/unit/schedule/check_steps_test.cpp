// Tests what verify_programs() counts and rejects over several steps.
#include <gtest/gtest.h>

#include "trireme/schedule/check.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using Lines = std::initializer_list<const char*>;

TEST(MultiStepCheck, CountsGradientsFromFirstBackwardToLastUpdate) {
    const auto peaks = [](Lines lines, PipelineShape shape) {
        shape.steps = 2;
        return verify_programs(programs_of(lines), shape).proof.peak_gradients;
    };

    EXPECT_EQ(peaks({"0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0"}, make_grid_shape(1, 1, 1, 1)),
              std::vector<int>{1});
    EXPECT_EQ(peaks({"0F0 0F1 0B0 REDUCE0 0I1 STEP0 0W1@1 REDUCE0 STEP0"}, make_grid_shape(1, 1, 1, 1)),
              std::vector<int>{2});
    EXPECT_EQ(
        peaks({"0F0 1F0 0F1 1F1 1B0 0B0 REDUCE1 REDUCE0 STEP1 1B1@1 STEP0 0B1@1 REDUCE1 REDUCE0 STEP1 STEP0"},
              make_grid_shape(1, 1, 2, 1)),
        std::vector<int>{2});
}

// This also applies to a holder that executes nothing: it holds the sums of the others' gradients.
TEST(MultiStepCheck, CountsGradientSumsOfHoldersWithoutMicrobatches) {
    PipelineShape shape = make_uneven_shape({2}, 1);
    shape.steps = 2;
    const char* const worker = "0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0";

    EXPECT_EQ(verify_programs(programs_of({worker, "REDUCE0 STEP0 REDUCE0 STEP0"}), shape).proof.peak_gradients,
              (std::vector<int>{1, 1}));
    EXPECT_EQ(verify_programs(programs_of({worker, "REDUCE0 REDUCE0 STEP0 STEP0"}), shape).proof.peak_gradients,
              (std::vector<int>{1, 2}));
}

TEST(MultiStepCheck, CountsWeightVersionsFromOldestUsedToNewest) {
    const auto versions = [](Lines lines, int steps) {
        PipelineShape shape = make_grid_shape(1, 1, 1, 1);
        shape.steps = steps;
        return verify_programs(programs_of(lines), shape).proof.weight_versions[0][0];
    };

    EXPECT_EQ(versions({"0F0@2 0B0@2 REDUCE0 STEP0 0F1@2 0B1@2 REDUCE0 STEP0"}, 2), 2);
    EXPECT_EQ(versions({"0F0 0F2 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0 0B2@2 REDUCE0 STEP0"}, 3), 3);
}

// Reductions of different steps may be in flight at once.
TEST(MultiStepCheck, RejectsDifferentReduceOrdersAcrossSteps) {
    PipelineShape shape = make_grid_shape(1, 2, 2, 1);
    shape.steps = 2;
    const auto verdict = [&](const std::string& reduces) {
        const std::string steps = " STEP0 STEP1 STEP0 STEP1";
        const Verdict verdict = verify_programs(
            {program_of("0F0 1F0 0F2 1F2 1B0 0B0 1B2 0B2 REDUCE1 REDUCE0 REDUCE1 REDUCE0" + steps),
             program_of("0F1 1F1 0F3 1F3 1B1 0B1 1B3 0B3 " + reduces + steps)},
            shape);
        return verdict.is_proved() ? "proved" : verdict.fault->what;
    };

    EXPECT_EQ(verdict("REDUCE1 REDUCE0 REDUCE1 REDUCE0"), "proved");
    EXPECT_EQ(
        verdict("REDUCE1 REDUCE1 REDUCE0 REDUCE0"),
        "teams 0 and 1 hold stages 0 and 1 in common but reduce them in different orders: REDUCE0, the 10th "
        "instruction of team 0, comes before REDUCE1, but REDUCE1, the 10th instruction of team 1, comes "
        "before REDUCE0");
}

TEST(MultiStepCheck, RejectsWeightHalvesUsingOtherWeightsThanTheirForward) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 1);
    shape.steps = 2;
    const auto verdict_on = [&](const char* program) { return verify_programs(programs_of({program}), shape); };

    EXPECT_TRUE(verdict_on("0F0 0F1 0B0 REDUCE0 0I1 STEP0 0W1@1 REDUCE0 STEP0").is_proved());
    EXPECT_EQ(
        verdict_on("0F0 0F1 0B0 REDUCE0 0I1 STEP0 0W1 REDUCE0 STEP0").fault->what,
        "0W1, the 7th instruction of team 0, uses the weights of stage 0 after 1 update, but 0F1 uses them "
        "after 0 updates; both passes must use the same weights");
}

TEST(MultiStepCheck, RejectsNegativeAgesAndAgesOfCollectives) {
    const auto fault_of = [](const Instruction& instruction) {
        return verify_programs({{instruction}}, make_grid_shape(1, 1, 1, 1)).fault->what;
    };

    EXPECT_EQ(fault_of({Op::forward, 0, 0, -1}),
              "0F0@-1, the 1st instruction of team 0, has age -1; only F, B, I and W have an age, which is 0 "
              "or a number of updates");
    EXPECT_EQ(fault_of({Op::reduce, 0, no_microbatch, 2}),
              "REDUCE0, the 1st instruction of team 0, has age 2; only F, B, I and W have an age, which is 0 "
              "or a number of updates");
}

}  // namespace
}  // namespace trireme::schedule
