// The checker rejects work that frozen stages do not have.
#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

PipelineShape make_two_stages(int first_trained_stage) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    shape.first_trained_stage = first_trained_stage;
    return shape;
}

// Returns "proved", or the position of the fault (team:position) and its text, for two teams with one stage
// each. Stage 0 is frozen.
std::string check_two_teams(const char* first, const char* last) {
    const Verdict verdict = verify_programs(programs_of({first, last}), make_two_stages(1));
    if (verdict.is_proved()) return "proved";
    return cat(verdict.fault->team, ":", verdict.fault->position, " ", verdict.fault->what);
}

constexpr const char* frozen_team = "0F0 0SEND_F0";
constexpr const char* trained_team = "1RECV_F0 1F0 1B0 REDUCE1 STEP1";

TEST(FrozenStageCheck, RejectsTrainingOfFrozenStages) {
    EXPECT_EQ(check_two_teams(frozen_team, trained_team), "proved");
    for (const std::string work :
         {"0B0", "0I0", "0W0", "0SEND_B0", "0RECV_B0", "REDUCE0", "STEP0", "VALIDATE0"}) {
        EXPECT_EQ(
            check_two_teams((frozen_team + (" " + work)).c_str(), trained_team),
            cat("0:2 ", work, ", the 3rd instruction of team 0, belongs to training, but stage 0 is frozen"));
    }
}

TEST(FrozenStageCheck, RejectsGradientsForFrozenStages) {
    EXPECT_EQ(check_two_teams(frozen_team, "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1"),
              "1:3 1SEND_B0, the 4th instruction of team 1, has no peer, because stage 0 is frozen");
}

TEST(FrozenStageCheck, FindsMissingWorkOfTrainedStages) {
    EXPECT_EQ(
        check_two_teams(frozen_team, "1RECV_F0 1F0"),
        "1:2 team 1 executes micro-batch 0 in stage 1, but its program of 2 instructions has no 1B0 or 1I0");
    EXPECT_EQ(
        check_two_teams(frozen_team, "1RECV_F0 1F0 REDUCE1 STEP1"),
        "1:2 REDUCE1, the 3rd instruction of team 1, needs 1B0 or 1W0 before it, but its program has no 1B0 "
        "or 1W0");
    EXPECT_EQ(check_two_teams(frozen_team, "1RECV_F0 1F0 1B0 REDUCE1"),
              "1:4 team 1 holds stage 1, but its program of 4 instructions has no STEP1");
    EXPECT_EQ(check_two_teams("", trained_team),
              "0:0 team 0 executes micro-batch 0 in stage 0, but its program of 0 instructions has no 0F0");
}

TEST(FrozenStageCheck, RejectsContradictoryShapes) {
    const auto refusal = [](const PipelineShape& shape) {
        return validation::catch_message<BugError>([&] {
            return verify_programs(programs_of({frozen_team, trained_team}), shape);
        });
    };
    PipelineShape speculative = make_two_stages(1);
    speculative.has_speculative_updates = true;

    EXPECT_EQ(refusal(make_two_stages(2)), "a pipeline shape of 2 stages has 2 frozen stages");
    EXPECT_EQ(refusal(speculative), "a pipeline shape of 2 stages has 1 frozen stages and speculative updates");
}

// The backward of micro-batch 1 uses the weights of one update ago.
TEST(FrozenStageCheck, CountsActivationsGradientsAndWeightsOfTrainedStages) {
    PipelineShape shape = make_grid_shape(1, 1, 2, 1);
    shape.first_trained_stage = 1;
    shape.steps = 2;

    const Verdict verdict =
        verify_programs(programs_of({"0F0 0F1 1F0 1F1 1B0 REDUCE1 STEP1 1B1@1 REDUCE1 STEP1"}), shape);

    ASSERT_TRUE(verdict.is_proved()) << verdict.fault->what;
    EXPECT_EQ(verdict.proof.peak_activations, std::vector<int>{2});
    EXPECT_EQ(verdict.proof.peak_activations_of_stage, (std::vector<std::vector<int>>{{1, 2}}));
    EXPECT_EQ(verdict.proof.peak_gradients, std::vector<int>{1});
    EXPECT_EQ(verdict.proof.weight_versions, (std::vector<std::vector<int>>{{1, 2}}));
}

}  // namespace
}  // namespace trireme::schedule
