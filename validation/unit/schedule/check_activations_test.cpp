// The checker counts the micro-batches in flight of each team and stage.
#include <gtest/gtest.h>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

TEST(CheckedActivations, EnforcesActivationLimitsPerTeam) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    const std::vector<Program> programs = lower(programs_of({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}), shape);

    shape.max_activations = {2, 1};
    EXPECT_TRUE(verify_programs(programs, shape).is_proved());
    shape.max_activations = {1, 2};
    EXPECT_EQ(verify_programs(programs, shape).fault->team, 0);
}

TEST(CheckedActivations, CountsPeaksPerTeamAndStage) {
    const std::vector<Program> programs =
        programs_of({"0F0 0F1 1F0 1B0 0B0 1F1 1B1 0B1 REDUCE1 REDUCE0 STEP0 STEP1"});

    const Verdict verdict = verify_programs(programs, make_grid_shape(1, 1, 2, 2));

    ASSERT_TRUE(verdict.is_proved());
    EXPECT_EQ(verdict.proof.peak_activations, std::vector<int>{3});
    EXPECT_EQ(verdict.proof.peak_activations_of_stage, (std::vector<std::vector<int>>{{2, 1}}));
}

TEST(CheckedActivations, CountsForwardOnlyActivationsUntilTheForwardEnds) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 2, false);
    shape.max_activations = {1, 1};

    const Verdict verdict =
        verify_programs(programs_of({"0F0 0SEND_F0 0F1 0SEND_F1", "1RECV_F0 1F0 1RECV_F1 1F1"}), shape);

    ASSERT_TRUE(verdict.is_proved());
    EXPECT_EQ(verdict.proof.peak_activations, (std::vector<int>{1, 1}));
    EXPECT_EQ(verdict.proof.peak_activations_of_stage, (std::vector<std::vector<int>>{{1, 0}, {0, 1}}));
}

}  // namespace
}  // namespace trireme::schedule
