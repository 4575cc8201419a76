#include "trireme/schedule/predict.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using validation::catch_message;
using CostTable = std::vector<std::vector<StageCost>>;  // [stage][micro-batch]

// Returns text such as "0F0 0-1, 0B0 4-6".
std::string to_string(const std::vector<Span>& spans) {
    std::string text;
    for (const Span& span : spans) {
        text += cat(text.empty() ? "" : ", ", to_string(span.instruction), " ", span.begin, "-", span.end);
    }
    return text;
}

// Returns the same cost for every stage.
std::vector<StageCost> make_costs(int stages, const StageCost& cost) {
    return std::vector<StageCost>(static_cast<std::size_t>(stages), cost);
}

std::vector<Program> two_stage_programs() {
    return programs_of({"0F0 0SEND_F0 0RECV_B0 0B0 REDUCE0 STEP0", "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1"});
}

std::vector<Program> two_forwards() {
    return programs_of({"0F0 0SEND_F0 0F1 0SEND_F1", "1RECV_F0 1F0 1RECV_F1 1F1"});
}

TEST(Predict, ExecutesInstructionsOfATeamInSequence) {
    const Prediction prediction =
        predict(programs_of({"0F0 0F1 0B0 0I1 0W1 REDUCE0 STEP0"}), make_grid_shape(1, 1, 1, 2),
                make_costs(1, {.forward = 1, .backward_input = 2, .backward_weight = 3, .step = 4}));

    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0F1 1-2, 0B0 2-7, 0I1 7-9, 0W1 9-12, STEP0 12-16");
    EXPECT_EQ(prediction.makespan, 16);
    EXPECT_EQ(prediction.busy_times, std::vector<double>{16});
    EXPECT_EQ(prediction.compute_bubble(), 0);
}

TEST(Predict, DelaysComputeUntilItsMessageArrives) {
    const Prediction prediction =
        predict(two_stage_programs(), make_grid_shape(2, 1, 1, 1), make_costs(2, {.send = 0.5}));

    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0B0 5-7, STEP0 7-7");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F0 1.5-2.5, 1B0 2.5-4.5, STEP1 7-7");
    EXPECT_EQ(prediction.makespan, 7);
    EXPECT_EQ(prediction.compute_idle_time(0), 4);
    EXPECT_EQ(prediction.compute_idle_time(1), 4);
    EXPECT_EQ(prediction.compute_bubble(), 1 - 3.0 / 7);
}

TEST(Predict, UsesTheCostsOfEachStage) {
    const std::vector<StageCost> costs = {
        {.forward = 2, .backward_input = 3, .backward_weight = 4, .send = 10},
        {.forward = 5, .backward_input = 6, .backward_weight = 7, .send = 20}};

    const Prediction prediction = predict(two_stage_programs(), make_grid_shape(2, 1, 1, 1), costs);

    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-2, 0B0 50-57, STEP0 57-57");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F0 12-17, 1B0 17-30, STEP1 57-57");
}

TEST(Predict, SendsTheGradientBeforeTheWeightHalf) {
    const std::vector<Program> programs =
        programs_of({"0F0 0SEND_F0 0RECV_B0 0B0 REDUCE0 STEP0", "1RECV_F0 1F0 1I0 1SEND_B0 1W0 REDUCE1 STEP1"});

    const Prediction prediction = predict(programs, make_grid_shape(2, 1, 1, 1), make_costs(2, {}));

    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0B0 3-5, STEP0 5-5");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F0 1-2, 1I0 2-3, 1W0 3-4, STEP1 5-5");
}

TEST(Predict, StartsAMessageWhenItsReceiveIsPosted) {
    const std::vector<StageCost> costs = {{.forward = 1, .send = 2}, {.forward = 5}};

    const Prediction prediction = predict(two_forwards(), make_grid_shape(2, 1, 1, 2, false), costs);

    // 0F1 waits for the buffer until the first message is complete. The second message, sent at 4, waits until
    // 8.
    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0F1 3-4");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F0 3-8, 1F1 10-15");
}

TEST(Predict, OverlapsMessagesWithTwoSlots) {
    const std::vector<StageCost> costs = {{.forward = 1, .send = 2}, {.forward = 5}};
    PipelineShape shape = make_grid_shape(2, 1, 1, 2, false);
    shape.slots = 2;
    const std::vector<Program> programs =
        programs_of({"0F0 0SEND_F0 0F1 0SEND_F1", "1RECV_F0 1RECV_F1 1F0 1F1"});

    const Prediction prediction = predict(programs, shape, costs);

    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0F1 1-2");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F0 3-8, 1F1 8-13");
}

TEST(Predict, KeepsMessagesOfAChannelInOrder) {
    PipelineShape shape = make_grid_shape(2, 1, 2, 2, false);
    shape.slots = 2;
    const std::vector<Program> programs =
        programs_of({"0F0 0SEND_F0 2RECV_F0 2F0 0F1 0SEND_F1 2SEND_F0 2RECV_F1 2F1 2SEND_F1",
                     "1RECV_F0 1F0 1SEND_F0 1RECV_F1 3RECV_F0 3F0 1F1 1SEND_F1 3RECV_F1 3F1"});
    const std::vector<StageCost> costs = {{.send = 10}, {.send = 0}, {.send = 1}, {.send = 0}};

    const Prediction prediction = predict(programs, shape, costs);

    // 0SEND_F1 and 2SEND_F0 both leave at 14; without the first one, the second one would arrive at 15.
    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 2F0 12-13, 0F1 13-14, 2F1 26-27");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F0 11-12, 3F0 24-25, 1F1 25-26, 3F1 28-29");
}

TEST(Predict, StartsUpdatesWhenAllGradientsAreReduced) {
    const Prediction prediction =
        predict(two_stage_programs(), make_grid_shape(2, 1, 1, 1), make_costs(2, {.reduce = 3, .step = 2}));

    // Team 1 reduces at 4, team 0 at 6.
    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0B0 4-6, STEP0 9-11");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F0 1-2, 1B0 2-4, STEP1 9-11");
    EXPECT_EQ(prediction.makespan, 11);
    EXPECT_EQ(prediction.busy_times, (std::vector<double>{5, 5}));
}

TEST(Predict, OverlapsReductionsWithComputeOfOtherStages) {
    const std::vector<StageCost> costs = {{.reduce = 3}, {.reduce = 7}};
    const Prediction prediction = predict(two_stage_programs(), make_grid_shape(2, 1, 1, 1), costs);

    // The reduction of stage 0 runs from 6 to 9, that of stage 1 from 4 to 11.
    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0B0 4-6, STEP0 11-11");
}

TEST(Predict, UsesTheCostsOfEachMicrobatch) {
    const StepCosts costs(
        CostTable{{{.forward = 1, .send = 2}, {.forward = 3, .send = 1}}, {{.forward = 5}, {.forward = 7}}});
    PipelineShape shape = make_grid_shape(2, 1, 1, 2, false);
    shape.slots = 2;  // no team waits for a buffer

    const Prediction prediction = predict(two_forwards(), shape, costs);

    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0F1 1-4");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F0 3-8, 1F1 9-16");  // posts its receive after 1F0
}

// Micro-batch 0 of step 1 is micro-batch 2 of the programs.
TEST(Predict, RepeatsTheCostsOfMicrobatchesInEachStep) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 2);
    shape.steps = 2;
    const StepCosts costs(CostTable{{{.forward = 1}, {.forward = 10}}});

    const Prediction prediction =
        predict(programs_of({"0F0 0B0 0F1 0B1 REDUCE0 STEP0 0F2 0B2 0F3 0B3 REDUCE0 STEP0"}), shape, costs);

    EXPECT_EQ(prediction.makespan, 2 * (1 + 10 + 4));
}

// Two replicas of a stage. The second one executes micro-batch 1, which takes ten times as long as micro-batch
// 0, and its update takes ten times as long, too.
TEST(Predict, UsesTheUpdateOfTheReplicaThatExecutesAMicrobatch) {
    const StepCosts costs(CostTable{{{.reduce = 1, .step = 1}, {.forward = 10, .reduce = 2, .step = 10}}});

    const Prediction prediction = predict(programs_of({"0F0 0B0 REDUCE0 STEP0", "0F1 0B1 REDUCE0 STEP0"}),
                                          make_grid_shape(1, 2, 1, 1), costs);

    EXPECT_EQ(to_string(prediction.spans[0]), "0F0 0-1, 0B0 1-3, STEP0 14-15");
    EXPECT_EQ(to_string(prediction.spans[1]), "0F1 0-10, 0B1 10-12, STEP0 14-24");
}

// Stage 1 neither executes nor waits for the empty micro-batch 0, whose forward would take 100 on stage 0.
TEST(Predict, SkipsEmptyMicrobatches) {
    const std::vector<StageCost> costs{{.forward = 100, .send = 100}, {.forward = 1, .send = 1}};

    const Prediction prediction = predict(two_forwards(), make_grid_shape(2, 1, 1, 2, false),
                                          StepCosts(CostTable{costs, costs}, {true, false}));

    EXPECT_EQ(to_string(prediction.spans[0]), "0F1 0-1");
    EXPECT_EQ(to_string(prediction.spans[1]), "1F1 2-3");
}

// The second step has forwards of 5 instead of 1.
TEST(Predict, PredictsStepsOfDifferentCostsOneByOne) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    const Phases phases = lower_phases(generate_phases(require_schedule("1f1b"), shape), shape);
    const std::vector<StepCosts> steps{StepCosts(make_costs(2, {})), StepCosts(make_costs(2, {.forward = 5}))};

    EXPECT_EQ(predict_steps(phases, shape, steps),
              (std::vector<double>{predict_step(phases, shape, steps[0]).seconds,
                                   predict_step(phases, shape, steps[1]).seconds}));
}

// Steps with work in flight: each step takes its own share of a sequence, and equal steps take equal times
// after the first one.
TEST(Predict, PredictsOverlappingStepsAsOneSequence) {
    const PipelineShape shape = apply_update_rule(require_schedule("zb-h1"), make_grid_shape(3, 1, 1, 6));
    const Phases phases = lower_phases(generate_phases(require_schedule("zb-h1"), shape), shape);
    const StepCosts equal(make_costs(3, {}));
    const StepCosts longer(make_costs(3, {.forward = 2}));

    const std::vector<double> equal_steps = predict_steps(phases, shape, {equal, equal, equal});
    const std::vector<double> mixed_steps = predict_steps(phases, shape, {equal, longer, equal});

    EXPECT_GT(equal_steps[0], equal_steps[1]);  // it also fills the pipeline
    EXPECT_EQ(equal_steps[1], predict_step(phases, shape, equal).seconds);
    EXPECT_GT(mixed_steps[1], equal_steps[1]);
    // Each stage executes six longer forwards. The three stages wait for each other by at most a unit each, and
    // another stage is the slowest one of the next step, which adds a unit.
    const double more_seconds =
        mixed_steps[0] + mixed_steps[1] + mixed_steps[2] - equal_steps[0] - equal_steps[1] - equal_steps[2];
    EXPECT_GE(more_seconds, 6);
    EXPECT_LE(more_seconds, 6 + 3 + 1);
}

// PipeDream computes micro-batches of two later steps in each step. The last step takes as long as any other.
TEST(Predict, PredictsTheLastOfManyOverlappingSteps) {
    const PipelineShape shape = apply_update_rule(require_schedule("pipedream"), make_grid_shape(3, 1, 1, 1));
    const Phases phases = lower_phases(generate_phases(require_schedule("pipedream"), shape), shape);
    std::vector<StageCost> stages = make_costs(3, {});
    stages.front() = {.forward = 2, .backward_input = 2, .backward_weight = 2};
    const StepCosts costs(stages);

    EXPECT_EQ(predict_steps(phases, shape, {costs, costs, costs, costs, costs, costs}).back(),
              predict_step(phases, shape, costs).seconds);
}

TEST(Predict, RejectsProgramsThatCannotRun) {
    const std::vector<Program> programs =
        programs_of({"0F0 0RECV_B0 0B0 0SEND_F0 REDUCE0 STEP0", "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1"});

    EXPECT_EQ(
        catch_message<BugError>([&] { predict(programs, make_grid_shape(2, 1, 1, 1), make_costs(2, {})); }),
        "these programs cannot run: team 0 waits for 1SEND_B0 of team 1");
}

TEST(Predict, RequiresCostsOfEveryStageAndMicrobatch) {
    EXPECT_EQ(catch_message<BugError>(
                  [] { predict(two_forwards(), make_grid_shape(2, 1, 1, 2, false), make_costs(1, {})); }),
              "the number of stages is 2, but costs are given for 1");
    EXPECT_EQ(catch_message<BugError>([] {
                  predict(two_forwards(), make_grid_shape(2, 1, 1, 2, false),
                          StepCosts(CostTable{{{}, {.forward = 2}}, {{}}}));
              }),
              "the costs do not fit the number of micro-batches per step, which is 2");
}

}  // namespace
}  // namespace trireme::schedule
