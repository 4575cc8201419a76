#include "unit/schedule/exhaustive_interpreter.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

// Explores two micro-batches in a pipeline with one stage per team and `slots` buffers per channel.
Exploration explore_row(const std::vector<std::string>& texts, int slots, bool is_training) {
    PipelineShape shape{.teams = static_cast<int>(texts.size()), .microbatches = 2};
    shape.slots = slots;
    shape.is_training = is_training;
    shape.holders.clear();
    shape.executor.clear();
    for (int team = 0; team < shape.teams; ++team) {
        shape.holders.push_back({team});
        shape.executor.push_back({team, team});
    }
    return explore(programs_of(texts), shape);
}

TEST(ExhaustiveInterpreter, CountsTheStatesOfIndependentTeams) {
    PipelineShape shape{.teams = 2, .microbatches = 4, .holders = {{0, 1}}, .executor = {{0, 0, 1, 1}}};
    shape.is_training = false;

    const Exploration exploration = explore(programs_of({"0F0 0F1", "0F2 0F3"}), shape);

    EXPECT_TRUE(exploration.is_accepted());
    EXPECT_EQ(exploration.states, 9U);  // 3 x 3 program counters
    EXPECT_EQ(exploration.ends, std::vector<ProgramCounters>({{2, 2}}));
}

TEST(ExhaustiveInterpreter, HoldsAResultInItsSlotUntilItsMessageIsComplete) {
    const std::string late_sends = "0F0 0F1 0SEND_F0 0SEND_F1";
    const std::string reader = "1RECV_F0 1F0 1RECV_F1 1F1";

    EXPECT_EQ(explore_row({late_sends, reader}, 1, false).objection,
              "team 0 is stuck at 0F1; team 1 is stuck at 1F0; ");
    EXPECT_TRUE(explore_row({late_sends, reader}, 2, false).is_accepted());
}

TEST(ExhaustiveInterpreter, RequiresAFreeSlotForEachReceive) {
    const std::string writer = "0F0 0SEND_F0 0F1 0SEND_F1";
    const std::string early_receives = "1RECV_F0 1RECV_F1 1F0 1F1";

    EXPECT_EQ(explore_row({writer, early_receives}, 1, false).objection, "team 1 is stuck at 1RECV_F1; ");
    EXPECT_TRUE(explore_row({writer, early_receives}, 2, false).is_accepted());
}

TEST(ExhaustiveInterpreter, ExecutesStepsOnlyAfterAllReduces) {
    const std::string writer = "0F0 0SEND_F0 0RECV_B0 0F1 0SEND_F1 0B0 0RECV_B1 0B1 REDUCE0 STEP0";
    const std::string reader = "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1I1 1SEND_B1 ";

    const Exploration sound = explore_row({writer, reader + "1W1 REDUCE1 STEP1"}, 1, true);
    EXPECT_TRUE(sound.is_accepted()) << sound.objection;
    EXPECT_EQ(sound.proof.peak_activations, (std::vector<int>{2, 1}));
    EXPECT_EQ(explore_row({writer, reader + "1W1 STEP1 REDUCE1"}, 1, true).objection,
              "team 0 is stuck at STEP0; team 1 is stuck at STEP1; ");
    EXPECT_EQ(explore_row({writer, reader + "REDUCE1 1W1 STEP1"}, 1, true).objection,
              "team 0 is stuck at STEP0; team 1 is stuck at REDUCE1; ");
}

TEST(ExhaustiveInterpreter, RejectsStaticallyInvalidPrograms) {
    const std::string writer = "0F0 0SEND_F0 0F1 0SEND_F1";
    const std::string reader = "1RECV_F0 1F0 1RECV_F1 1F1";
    const auto objection_to = [&](const std::string& at_0, const std::string& at_1) {
        return explore_row({at_0, at_1}, 1, false).objection;
    };

    EXPECT_EQ(objection_to(writer, reader), "");
    EXPECT_EQ(objection_to(writer, "1RECV_F0 1F0 1RECV_F1"), "no forward of stage 1 of micro-batch 1");
    EXPECT_EQ(objection_to(writer, reader + " 1F1"), "1F1 occurs twice");
    EXPECT_EQ(objection_to(writer + " 1F1", reader), "1F1 of team 0: is not the executor");
    EXPECT_EQ(objection_to(writer, reader + " 1RECV_F2"), "1RECV_F2 of team 1: no such micro-batch");
    EXPECT_EQ(objection_to(writer, reader + " 1SEND_F1"), "1SEND_F1 of team 1: no team holds the other end");
    EXPECT_EQ(objection_to(writer, reader + " 1B1"), "1B1 of team 1: forward only");
    EXPECT_EQ(objection_to("0F0 0F1 0SEND_F1", reader), "a message lacks one of its ends");
    EXPECT_EQ(objection_to(writer, "1RECV_F1 1F1 1RECV_F0 1F0"), "0SEND_F0 meets 1RECV_F1");
}

TEST(ExhaustiveInterpreter, RejectsTrainingOfFrozenStages) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    shape.first_trained_stage = 1;
    const auto objection_to = [&](const char* at_0, const char* at_1) {
        return explore(programs_of({at_0, at_1}), shape).objection;
    };
    const char* frozen = "0F0 0SEND_F0";
    const char* trained = "1RECV_F0 1F0 1B0 REDUCE1 STEP1";

    EXPECT_EQ(objection_to(frozen, trained), "");
    EXPECT_EQ(objection_to("0F0 0SEND_F0 0B0", trained), "0B0 of team 0: forward only");
    EXPECT_EQ(objection_to("0F0 0SEND_F0 REDUCE0", trained), "REDUCE0 of team 0: forward only");
    EXPECT_EQ(objection_to(frozen, "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1"),
              "1SEND_B0 of team 1: a gradient for a frozen stage");
    EXPECT_EQ(objection_to(frozen, "1RECV_F0 1F0 REDUCE1 STEP1"),
              "not one backward of stage 1 of micro-batch 0");
    EXPECT_EQ(objection_to(frozen, "1RECV_F0 1F0 1B0 REDUCE1"), "too few STEP1 of team 1");
}

// Explores the programs over two steps.
Exploration explore_two_steps(PipelineShape shape, std::initializer_list<const char*> lines) {
    shape.steps = 2;
    return explore(programs_of(lines), shape);
}

std::string objection_of_one_team(const char* program) {
    return explore_two_steps(make_grid_shape(1, 1, 1, 1), {program}).objection;
}

TEST(ExhaustiveInterpreter, RequiresOneReduceAndStepPerTrainingStep) {
    EXPECT_EQ(objection_of_one_team("0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0"), "");
    EXPECT_EQ(objection_of_one_team("0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0"), "too few STEP0 of team 0");
    EXPECT_EQ(objection_of_one_team("0F0 0B0 STEP0 0F1 0B1 REDUCE0 STEP0"), "too few REDUCE0 of team 0");
    EXPECT_EQ(objection_of_one_team("0F0 0B0 REDUCE0 STEP0 STEP0 0F1 0B1 REDUCE0 STEP0"),
              "team 0 has more STEP0 than steps");
    EXPECT_EQ(objection_of_one_team("0F0 0B0 REDUCE0 REDUCE0 STEP0 0F1 0B1 STEP0"),
              "team 0 is stuck at REDUCE0; ");
    EXPECT_EQ(objection_of_one_team("0F0 0B0 REDUCE0 STEP0 STEP0 0F1@1 0B1@1 REDUCE0"),
              "team 0 is stuck at STEP0; ");
    EXPECT_EQ(objection_of_one_team("0F0 0B0 REDUCE0 STEP0 0F2 0B1 REDUCE0 STEP0"),
              "0F2 of team 0: no such micro-batch");
}

TEST(ExhaustiveInterpreter, RequiresTheSameWeightsInAllPassesOfAMicrobatch) {
    EXPECT_EQ(objection_of_one_team("0F0 0F1 0B0 REDUCE0 STEP0 0B1@1 REDUCE0 STEP0"), "");
    EXPECT_EQ(objection_of_one_team("0F0 0F1 0I0 0W0 REDUCE0 0I1 STEP0 0W1@1 REDUCE0 STEP0"), "");
    EXPECT_EQ(objection_of_one_team("0F0@3 0B0@5 REDUCE0 STEP0 0F1@4 0B1@1 REDUCE0 STEP0"), "");
    EXPECT_EQ(objection_of_one_team("0F0 0F1 0B0 REDUCE0 STEP0 0B1 REDUCE0 STEP0"),
              "0B1 uses different weights than another pass");
    EXPECT_EQ(objection_of_one_team("0F0 0F1 0I0 0W0 REDUCE0 0I1 STEP0 0W1 REDUCE0 STEP0"),
              "0W1 uses different weights than another pass");
}

TEST(ExhaustiveInterpreter, RejectsNegativeAgesAndAgesOfCollectives) {
    const PipelineShape shape = make_grid_shape(1, 1, 1, 1);

    EXPECT_EQ(explore({{{Op::forward, 0, 0, -1}}}, shape).objection, "0F0@-1 of team 0: no such age");
    EXPECT_EQ(explore({{{Op::step, 0, no_microbatch, 1}}}, shape).objection, "STEP0 of team 0: no such age");
}

TEST(ExhaustiveInterpreter, UpdatesStagesTogetherOrIndependently) {
    const char* const first =
        "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 REDUCE0 STEP0 0RECV_B1 0B1@1 REDUCE0 STEP0";
    const char* const early =
        "1RECV_F0 1F0 1B0 REDUCE1 STEP1 1SEND_B0 1RECV_F1 1F1@1 1B1@1 1SEND_B1 REDUCE1 STEP1";
    const char* const newer = "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1 1RECV_F1 1F1 1B1 1SEND_B1 REDUCE1 STEP1";
    PipelineShape together = make_grid_shape(2, 1, 1, 1);
    PipelineShape independent = together;
    independent.updates_stages_independently = true;

    EXPECT_EQ(explore_two_steps(together, {first, early}).objection,
              "team 0 is stuck at 0B0; team 1 is stuck at STEP1; ");
    EXPECT_EQ(explore_two_steps(independent, {first, early}).objection, "");
    EXPECT_EQ(explore_two_steps(together, {first, newer}).objection,
              "1F1 uses different weights than another pass");
    EXPECT_EQ(explore_two_steps(independent, {first, newer}).objection, "");
}

TEST(ExhaustiveInterpreter, WaitsForAllHoldersOfIndependentlyUpdatedStages) {
    PipelineShape shape = make_grid_shape(1, 2, 1, 1);
    shape.updates_stages_independently = true;
    const char* const other = "0F1 0B1 REDUCE0 0F3 0B3@1 STEP0 REDUCE0 STEP0";

    EXPECT_EQ(explore_two_steps(shape, {"0F0 0B0 REDUCE0 STEP0 0F2@1 0B2@1 REDUCE0 STEP0", other}).objection,
              "");
    EXPECT_EQ(explore_two_steps(shape, {"0F0 0B0 STEP0 REDUCE0 0F2@1 0B2@1 REDUCE0 STEP0", other}).objection,
              "team 0 is stuck at STEP0; team 1 is stuck at STEP0; ");
}

TEST(ExhaustiveInterpreter, RequiresOneReduceOrderOverAllSteps) {
    const PipelineShape shape = make_grid_shape(1, 2, 2, 1);
    const auto objection_to = [&](const std::string& second_reduces) {
        const std::string passes = "0F0 1F0 0F2 1F2 1B0 0B0 1B2 0B2 ";
        const std::string others = "0F1 1F1 0F3 1F3 1B1 0B1 1B3 0B3 ";
        const std::string steps = " STEP0 STEP1 STEP0 STEP1";
        const std::string first = passes + "REDUCE1 REDUCE0 REDUCE1 REDUCE0" + steps;
        return explore_two_steps(shape, {first.c_str(), (others + second_reduces + steps).c_str()}).objection;
    };

    EXPECT_EQ(objection_to("REDUCE1 REDUCE0 REDUCE1 REDUCE0"), "");
    EXPECT_EQ(objection_to("REDUCE1 REDUCE0 REDUCE0 REDUCE1"),
              "teams reduce common stages in different orders");
    EXPECT_EQ(objection_to("REDUCE1 REDUCE1 REDUCE0 REDUCE0"),
              "teams reduce common stages in different orders");
}

TEST(ExhaustiveInterpreter, CountsPeakGradientsAndWeightVersions) {
    const auto proof_of = [](const PipelineShape& shape, std::initializer_list<const char*> lines) {
        return explore_two_steps(shape, lines).proof;
    };
    const Proof apart = proof_of(make_grid_shape(1, 1, 1, 1), {"0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0"});
    const Proof early_input =
        proof_of(make_grid_shape(1, 1, 1, 1), {"0F0 0F1 0B0 REDUCE0 0I1 STEP0 0W1@1 REDUCE0 STEP0"});
    const Proof idle = proof_of(make_uneven_shape({2}, 1),
                                {"0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0", "REDUCE0 REDUCE0 STEP0 STEP0"});

    EXPECT_EQ(apart.peak_gradients, std::vector<int>{1});
    EXPECT_EQ(apart.weight_versions, (std::vector<std::vector<int>>{{1}}));
    EXPECT_EQ(early_input.peak_gradients, std::vector<int>{2});
    EXPECT_EQ(early_input.weight_versions, (std::vector<std::vector<int>>{{2}}));
    EXPECT_EQ(idle.peak_gradients, (std::vector<int>{1, 2}));
    EXPECT_EQ(idle.weight_versions, (std::vector<std::vector<int>>{{1}, {1}}));
}

}  // namespace
}  // namespace trireme::schedule
