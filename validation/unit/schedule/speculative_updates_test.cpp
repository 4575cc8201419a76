// Tests speculative updates, which are applied before all gradients are known.
#include <gtest/gtest.h>

#include <algorithm>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/schedule/every_shape.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using Texts = std::vector<std::string>;

PipelineShape zb_h2_shape(int pipe, int microbatches) {
    return apply_update_rule(require_schedule("zb-h2"), make_grid_shape(pipe, 1, 1, microbatches));
}

Phases zb_h2_phases(int pipe, int microbatches) {
    return generate_phases(require_schedule("zb-h2"), zb_h2_shape(pipe, microbatches));
}

TEST(ValidatedUpdates, MatchTheDiagramInTheSource) {
    const Phases phases = zb_h2_phases(2, 3);

    EXPECT_EQ(texts_of(phases.prologue), (Texts{"0F0", ""}));
    EXPECT_EQ(texts_of(phases.body), (Texts{"0F1 0F2 0B0 0B1 0B2 REDUCE0 STEP0 0F3 VALIDATE0",
                                            "1F0 1I0 1F1 1I1 1F2 1I2 1W0 1W1 1W2 REDUCE1 STEP1 VALIDATE1"}));
}

TEST(ValidatedUpdates, RunAheadByAtMostTheMicrobatchesOfAStep) {
    EXPECT_EQ(texts_of(zb_h2_phases(4, 2).prologue), (Texts{"0F0 0F1", "1F0 1F1", "2F0", ""}));
}

TEST(ValidatedUpdates, RunAheadByTheNumberOfLaterTeamsInEachRow) {
    const Phases phases = generate_phases(require_schedule("zb-v"), make_v_shape(2, 2, 1));

    EXPECT_EQ(texts_of(phases.prologue), (Texts{"0F0", "", "0F1", ""}));
    EXPECT_EQ(to_string(phases.body[2]), "3F1 3I1 3W1 REDUCE3 0B1 REDUCE0 STEP0 STEP3 0F3 VALIDATE0 VALIDATE3");
}

TEST(ValidatedUpdates, AreUsedOnlyByZeroBubbleSchedulesOnSeveralTeams) {
    for (const Schedule& each : list_schedules()) {
        const std::string name = each.name;
        const Schedule kind = require_schedule(name);
        EXPECT_EQ(apply_update_rule(kind, make_grid_shape(2, 1, 1, 4)).has_speculative_updates,
                  name.starts_with("zb-"))
            << name;
        EXPECT_FALSE(apply_update_rule(kind, make_grid_shape(1, 2, 2, 4)).has_speculative_updates) << name;
        EXPECT_FALSE(apply_update_rule(kind, make_grid_shape(2, 1, 1, 4, false)).has_speculative_updates)
            << name;
    }
    EXPECT_FALSE(has_prologue(generate_phases(require_schedule("zb-h1"), make_grid_shape(1, 2, 1, 4))));
}

// A speculative forward may be repeated. Its result for a forward that is not speculative is sent after the
// validation; its result for another speculative forward is sent at once.
TEST(ValidatedUpdates, SendNoMessageAcrossAValidation) {
    const PipelineShape shape = zb_h2_shape(3, 2);

    const Phases phases = lower_phases(zb_h2_phases(3, 2), shape);

    EXPECT_EQ(texts_of(phases.prologue), (Texts{"0F0 0SEND_F0 0F1", "1RECV_F0 1F0", ""}));
    EXPECT_EQ(to_string(phases.body[0]),
              "0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 REDUCE0 STEP0 0F2 0SEND_F2 0F3 VALIDATE0");
    EXPECT_EQ(
        to_string(phases.body[1]),
        "1SEND_F0 1RECV_F1 1RECV_B0 1F1 1SEND_F1 1I0 1SEND_B0 1RECV_B1 1I1 1SEND_B1 1W0 1W1 REDUCE1 STEP1 "
        "1RECV_F2 1F2 VALIDATE1");
    EXPECT_EQ(to_string(phases.body[2]),
              "2RECV_F0 2F0 2RECV_F1 2I0 2SEND_B0 2F1 2I1 2SEND_B1 2W0 2W1 REDUCE2 STEP2 VALIDATE2");
}

double predict_step(PipelineShape shape, const StageCost& cost) {
    const Phases phases = lower_phases(zb_h2_phases(shape.stages(), shape.microbatches), shape);
    const std::vector<StageCost> costs(static_cast<std::size_t>(shape.stages()), cost);
    return predict_step(phases, shape, costs).seconds;
}

TEST(ValidatedUpdates, AddOnlyUpdateAndReductionTimeToAStep) {
    const double work = 5 * 3;
    const double step = 0.25;
    const double sum = 2;

    EXPECT_EQ(predict_step(zb_h2_shape(3, 5), {}), work);
    EXPECT_EQ(predict_step(zb_h2_shape(3, 5), {.step = step}), work + step);
    // Each stage waits for its own reduction. The last team's comes later by the time by which its forwards
    // began later.
    EXPECT_EQ(predict_step(zb_h2_shape(3, 5), {.reduce = sum}), work + sum);
}

// The second team's weight halves are so long that the first team finishes all that it may do before them.
TEST(ValidatedUpdates, BlockFurtherForwardsUntilAllGradientsAreReady) {
    PipelineShape shape = zb_h2_shape(2, 3);
    shape.slots = 3;  // no team waits for a buffer
    const std::vector<Program> programs = unroll(lower_phases(zb_h2_phases(2, 3), shape), shape, 2);
    shape.steps = 2;

    const Prediction prediction = predict(programs, shape, std::vector<StageCost>{{}, {.backward_weight = 3}});

    const auto span_of = [&](std::size_t team, const Instruction& instruction) {
        return *std::ranges::find(prediction.spans[team], instruction, &Span::instruction);
    };
    const double last_gradient = span_of(1, {Op::backward_weight, 1, 2}).end;
    EXPECT_LT(span_of(0, {Op::forward, 0, 3}).end, last_gradient);
    EXPECT_EQ(span_of(0, {Op::forward, 0, 4}).begin, last_gradient);
}

// The first team updates when the last one has its gradients; the forwards of the last one began two forwards
// later.
TEST(ValidatedUpdates, WaitForBothEndsOfTiedEmbeddings) {
    PipelineShape tied = zb_h2_shape(3, 5);
    tied.has_tied_embeddings = true;

    EXPECT_EQ(predict_step(tied, {}), predict_step(zb_h2_shape(3, 5), {}) + 2);
}

// Returns the fault of two stages over two steps of one micro-batch each; empty if there is none.
std::string fault_of(const std::string& first, const std::string& second) {
    PipelineShape shape = zb_h2_shape(2, 1);
    shape.steps = 2;
    shape.slots = 2;
    return verify_programs(programs_of({first.c_str(), second.c_str()}), shape).fault.value_or(Fault{}).what;
}

const std::string first_step = "0F0 0SEND_F0 0RECV_B0 0B0 REDUCE0 STEP0 ";
const std::string first_end = "0RECV_B1 0B1 REDUCE0 STEP0 VALIDATE0";
const std::string first = first_step + "0F1 VALIDATE0 0SEND_F1 " + first_end;
const std::string second_step = "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1 ";
const std::string second_end = "1B1 1SEND_B1 REDUCE1 STEP1 VALIDATE1";
const std::string second = second_step + "VALIDATE1 1RECV_F1 1F1 " + second_end;

TEST(ValidationCheck, AcceptsForwardsThatRunAhead) {
    EXPECT_EQ(fault_of(first, second), "");
    EXPECT_EQ(fault_of(first_step + "VALIDATE0 0F1 0SEND_F1 " + first_end, second), "");
    EXPECT_EQ(fault_of(first_step + "0F1 0SEND_F1 VALIDATE0 " + first_end,
                       second_step + "1RECV_F1 1F1 VALIDATE1 " + second_end),
              "");
}

TEST(ValidationCheck, RejectsMessagesThatAreRepeatedAtOneEndOnly) {
    EXPECT_EQ(fault_of(first_step + "0F1 0SEND_F1 VALIDATE0 " + first_end, second),
              "1RECV_F1, the 8th instruction of team 1, stands after VALIDATE, but 0SEND_F1, the 8th "
              "instruction of team 0, stands before VALIDATE; after a rollback, the send, the receive and the "
              "reader of a message must all be repeated, or none of them");
    EXPECT_EQ(fault_of(first, second_step + "1RECV_F1 VALIDATE1 1F1 " + second_end),
              "1RECV_F1, the 7th instruction of team 1, stands before VALIDATE, but 1F1, the 9th instruction "
              "of team 1, stands after VALIDATE; after a rollback, the send, the receive and the reader of a "
              "message must all be repeated, or none of them");
}

TEST(ValidationCheck, RejectsAllButForwardsBetweenUpdateAndValidation) {
    EXPECT_EQ(fault_of(first_step + "0F1 0RECV_B1 VALIDATE0 0SEND_F1 0B1 REDUCE0 STEP0 VALIDATE0", second),
              "0RECV_B1, the 8th instruction of team 0, stands between an update and its validation, where "
              "only forward passes of the next step and their messages are allowed; put it after VALIDATE0");
    EXPECT_EQ(fault_of("0F0 0SEND_F0 0RECV_B0 0F1 0B0 REDUCE0 STEP0 VALIDATE0 0SEND_F1 " + first_end, second),
              "0F1, the 4th instruction of team 0, belongs to step 1 (counted from 0), but follows 0 updates; "
              "apart from forward passes that run ahead, the work of a step must stand between the VALIDATEs "
              "of the previous step and its own STEPs");
}

// Both ends of the message would be repeated, but at different validations.
TEST(ValidationCheck, RejectsEarlyMessagesOfTheStepAfterTheNext) {
    PipelineShape shape = zb_h2_shape(2, 1);
    shape.steps = 3;
    shape.slots = 3;
    const auto fault = [&](const std::string& early, const std::string& late) {
        const std::string sender = first_step +
                                   "0F1 0SEND_F1 VALIDATE0 0RECV_B1 0B1 REDUCE0 STEP0 0F2 0SEND_F2 "
                                   "VALIDATE0 0RECV_B2 0B2 REDUCE0 STEP0 VALIDATE0";
        const std::string reader = second_step + "1RECV_F1 " + early +
                                   "1F1 VALIDATE1 1B1 1SEND_B1 REDUCE1 STEP1 " + late +
                                   "1F2 VALIDATE1 1B2 1SEND_B2 REDUCE1 STEP1 VALIDATE1";
        return verify_programs(programs_of({sender.c_str(), reader.c_str()}), shape)
            .fault.value_or(Fault{})
            .what;
    };

    EXPECT_EQ(fault("", "1RECV_F2 "), "");
    EXPECT_EQ(
        fault("1RECV_F2 ", ""),
        "1RECV_F2, the 8th instruction of team 1, stands between an update and its validation, where only "
        "forward passes of the next step and their messages are allowed; put it after VALIDATE1");
}

TEST(ValidationCheck, RejectsUpdatesAndValidationsOutOfOrder) {
    EXPECT_EQ(
        fault_of("0F0 0SEND_F0 0RECV_B0 0B0 REDUCE0 VALIDATE0 STEP0 0F1 0SEND_F1 " + first_end, second),
        "VALIDATE0, the 6th instruction of team 0, needs STEP0 before it, but STEP0 is the 7th instruction");
    EXPECT_EQ(fault_of(first, second_step + "VALIDATE1 1RECV_F1 1F1 1B1 1SEND_B1 REDUCE1 STEP1"),
              "team 1 holds stage 1, but its program of 13 instructions has VALIDATE1 for only 1 of 2 steps");
    EXPECT_EQ(fault_of(first, second + " VALIDATE1"),
              "VALIDATE1, the 15th instruction of team 1, repeats VALIDATE1, its 7th instruction");
}

TEST(ValidationCheck, RequiresAdjacentUpdatesOfATeam) {
    PipelineShape shape = make_grid_shape(1, 1, 2, 1);
    shape.has_speculative_updates = true;
    const auto fault = [&](const char* program) {
        return verify_programs(programs_of({program}), shape).fault.value_or(Fault{}).what;
    };

    EXPECT_EQ(fault("0F0 1F0 1B0 0B0 REDUCE1 REDUCE0 STEP1 STEP0 VALIDATE0 VALIDATE1"), "");
    EXPECT_EQ(fault("0F0 1F0 1B0 0B0 REDUCE1 STEP1 REDUCE0 STEP0 VALIDATE0 VALIDATE1"),
              "STEP1, the 6th instruction of team 0, comes too early; put the REDUCEs of all stages of team 0 "
              "before it");
    EXPECT_EQ(fault("0F0 1F0 1B0 0B0 REDUCE1 REDUCE0 STEP1 VALIDATE1 STEP0 VALIDATE0"),
              "VALIDATE1, the 8th instruction of team 0, comes before STEP0 of the same step; in programs with "
              "VALIDATEs, the STEPs of a step must be adjacent, and so must its VALIDATEs");
}

TEST(ValidationCheck, RejectsOldWeights) {
    EXPECT_EQ(
        fault_of("0F0@1 " + first.substr(4), second),
        "0F0@1, the 1st instruction of team 0, uses older weights; in programs with VALIDATEs, all passes "
        "must use the newest weights");
}

TEST(ValidationCheck, RejectsValidationOfNonSpeculativeUpdates) {
    EXPECT_EQ(verify_programs(programs_of({"0F0 0B0 REDUCE0 STEP0 VALIDATE0"}), make_grid_shape(1, 1, 1, 1))
                  .fault->what,
              "VALIDATE0, the 5th instruction of team 0, validates an update, but these programs have no "
              "speculative updates");
}

}  // namespace
}  // namespace trireme::schedule
