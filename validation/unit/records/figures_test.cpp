#include "trireme/records/figures.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "error_message.hpp"

namespace trireme::records {
namespace {

using validation::says;

// A block has 8 + 8 parameters in its norms, 4 * 12 + 12 and 4 * 4 + 4 in attention, 4 * 8 + 8 and 8 * 4 + 4 in
// the MLP: 172. The last norm has 8, the head 5 * 4. The 3 * 4 of the position table are only looked up.
model::ModelConfig tiny(std::size_t layers, bool tied) {
    model::ModelConfig model;
    model.layers = layers;
    model.width = 4;
    model.heads = 2;
    model.mlp_width = 8;
    model.positions = 3;
    model.vocabulary = 5;
    model.tied = tied;
    return model;
}

model::ModelConfig tiny_bert(Task task) {
    model::ModelConfig model = tiny(1, true);
    model.family = model::Family::bert;
    model.task = task;
    model.token_types = 2;
    model.labels = 3;
    return model;
}

TEST(ModelFlops, CountAllParametersExceptLookupTables) {
    EXPECT_EQ(setup::count_model_flops(tiny(1, true)).body_parameters, 172 + 8);
    EXPECT_EQ(setup::count_model_flops(tiny(2, true)).body_parameters, 2 * 172 + 8);
    EXPECT_EQ(setup::count_model_flops(tiny(2, true)).head_parameters, 20);
}

// A tied table multiplies as the head. An untied one is only looked up, and the separate head multiplies.
TEST(ModelFlops, AreTheSameForATiedAndAnUntiedHead) {
    EXPECT_EQ(setup::count_model_flops(tiny(3, false)).body_parameters,
              setup::count_model_flops(tiny(3, true)).body_parameters);
    EXPECT_EQ(setup::count_model_flops(tiny(3, false)).head_parameters, 20);
}

// Two heads share one group of keys and values. Attention has 4 * 4, 2 * (4 * 2) and 4 * 4 parameters, the
// gated MLP 3 * (4 * 8), the norms 4 + 4. There are no biases.
TEST(ModelFlops, CountThreeMlpMatricesAndFewerKeysForLlama) {
    model::ModelConfig model = tiny(1, false);
    model.family = model::Family::llama;
    model.groups = 1;

    const setup::ModelFlops flops = setup::count_model_flops(model);

    EXPECT_EQ(flops.body_parameters, 16 + 16 + 16 + 96 + 8 + 4);
    EXPECT_EQ(flops.head_parameters, 20);
    EXPECT_TRUE(flops.is_causal);
}

// Only masked tokens need the matrix, 4 * 4 + 4, and the norm, 8, before the 5 * 4 + 5 of the head.
TEST(ModelFlops, CountTheTransformWithTheHeadForMaskedBert) {
    const setup::ModelFlops flops = setup::count_model_flops(tiny_bert(Task::masked));

    EXPECT_EQ(flops.body_parameters, 172);  // with a norm after each half, and none at the end
    EXPECT_EQ(flops.head_parameters, 25 + 28);
    EXPECT_FALSE(flops.is_causal);
}

TEST(ModelFlops, CountThePoolerWithTheHeadForBertClassifiers) {
    const setup::ModelFlops flops = setup::count_model_flops(tiny_bert(Task::classify));

    EXPECT_EQ(flops.body_parameters, 172);
    EXPECT_EQ(flops.head_parameters, 3 * 4 + 3 + 20);
}

// The head of 2 * 4 + 2 parameters looks for the ends of an answer in every row.
TEST(ModelFlops, CountTheSpanHeadInEveryRowForBert) {
    const setup::ModelFlops flops = setup::count_model_flops(tiny_bert(Task::span));

    EXPECT_EQ(flops.body_parameters, 172 + 10);
    EXPECT_EQ(flops.head_parameters, 0);
}

// Patches of 3 * 2 * 2 values become 4 channels: 12 * 4 + 4. The class token and the positions are only added.
TEST(ModelFlops, CountThePatchMatrixForVit) {
    model::ModelConfig model = tiny(2, true);
    model.family = model::Family::vit;
    model.task = Task::classify;
    model.image = {.channels = 3, .size = 4, .patch = 2};
    model.positions = 5;
    model.labels = 3;

    const setup::ModelFlops flops = setup::count_model_flops(model);

    EXPECT_EQ(flops.body_parameters, 52 + 2 * 172 + 8);
    EXPECT_EQ(flops.head_parameters, 3 * 4 + 3);
    EXPECT_EQ(flops.attention_factor, 2 * 4);
    EXPECT_FALSE(flops.is_causal);
}

TEST(ModelFlops, ScaleAttentionByLayersAndWidth) {
    EXPECT_EQ(setup::count_model_flops(tiny(3, true)).attention_factor, 3 * 4);
}

// Samples have 3 and 1 tokens, of which 3 have a target: 6 * 180 * 4 + 6 * 20 * 3 + 12 * 1 * 4 * (9 + 1).
TEST(ModelFlops, FollowTheSampleLengthsOfAStep) {
    const setup::ModelFlops flops = setup::count_model_flops(tiny(1, true));

    EXPECT_EQ(flops.compute_step_flops({.tokens = 4, .targets = 3, .square_length_sum = 10}), 4320 + 360 + 480);
    EXPECT_EQ(flops.compute_step_flops({.tokens = 4, .targets = 3, .square_length_sum = 10}, 6),
              4320 + 360 + 240);
    EXPECT_EQ(flops.compute_step_flops({}), 0);
}

// Returns a step of 6 * 200 * 4 + 12 * 1 * 4 * 10 = 5280 operations.
StepOutcome outcome_with(double loss) {
    return {.loss = loss,
            .size = {.tokens = 4, .targets = 4, .square_length_sum = 10},
            .padded_tokens = 6,
            .seconds = 2,
            .compute_seconds = 1.5,
            .waits = {.pipeline = 0.125, .tensor = 0.0625, .data = 0.03125, .others = 0.03125}};
}

std::optional<Evaluation> evaluation_with(double loss) { return Evaluation{.loss = loss}; }

Figures figures_of(const std::vector<double>& losses, const std::optional<Evaluation>& validation = {}) {
    FigureSum sum(setup::count_model_flops(tiny(1, true)), 5280, 3);
    for (const double loss : losses) sum.add(outcome_with(loss));
    return sum.finish(validation);
}

TEST(Figures, AddUpTheSteps) {
    const Figures figures = figures_of({4, 3}, evaluation_with(3.5));

    EXPECT_EQ(figures.steps, 2U);
    EXPECT_EQ(figures.skipped_steps, 0U);
    EXPECT_EQ(figures.seconds, 4);
    EXPECT_EQ(figures.tokens, 8U);
    EXPECT_EQ(figures.padded_tokens, 12U);
    EXPECT_EQ(figures.flops, 2 * 5280);
    EXPECT_EQ(figures.causal_flops, 2 * 5040);
    EXPECT_EQ(figures.compute_seconds, 3);
    EXPECT_EQ(figures.waits.sum(), 0.5);
    EXPECT_EQ(figures.ranks, 3);
    EXPECT_EQ(figures.validation->loss, 3.5);
}

// If every token sees every other one, no half of the attention scores is skipped.
TEST(Figures, HaveNoCausalMfuForBidirectionalModels) {
    FigureSum sum(setup::count_model_flops(tiny_bert(Task::masked)), 5280, 1);
    sum.add(outcome_with(4));

    const Figures figures = sum.finish({});

    EXPECT_GT(figures.flops, 0);
    EXPECT_FALSE(figures.causal_flops.has_value());
    EXPECT_FALSE(figures.compute_causal_mfu().has_value());
}

TEST(Figures, AddUpTheEnergyOfEachRank) {
    FigureSum sum(setup::count_model_flops(tiny(1, true)), 5280, 2);
    StepOutcome outcome = outcome_with(4);
    outcome.energy_of_ranks = {{.compute = 3}, {.compute = 2, .blocked = 2, .idle = 1}};
    sum.add(outcome);
    outcome.energy_of_ranks = {{.compute = 1}, {.idle = 0.5}};
    sum.add(outcome);

    EXPECT_EQ(sum.finish({}).energy_of_ranks,
              (std::vector<EnergyPhases>{{.compute = 4}, {.compute = 2, .blocked = 2, .idle = 1.5}}));
    EXPECT_EQ(sum_energy(sum.finish({}).energy_of_ranks),
              (EnergyPhases{.compute = 6, .blocked = 2, .idle = 1.5}));

    sum.add(outcome_with(3));  // a step of unknown energy
    sum.add(outcome);

    EXPECT_EQ(sum_energy(sum.finish({}).energy_of_ranks), std::nullopt);
}

TEST(Figures, ComputeMfuThroughputAndBubble) {
    const Figures figures = figures_of({4, 3});

    EXPECT_EQ(figures.peak_flops, 5280);
    EXPECT_EQ(figures.compute_mfu(), 0.5);
    EXPECT_DOUBLE_EQ(figures.compute_causal_mfu().value(), 0.5 * 5040 / 5280);
    EXPECT_EQ(figures.compute_tokens_per_second(), 2);
    EXPECT_EQ(figures.compute_bubble(), 0.25);
    EXPECT_FALSE(figures.validation.has_value());
}

TEST(Figures, AverageTheLastTenthOfTheLosses) {
    std::vector<double> losses(18, 9);
    losses.insert(losses.end(), {4, 2});

    EXPECT_EQ(figures_of(losses).first_loss, 9);
    EXPECT_EQ(figures_of(losses).last_loss, 3);
    EXPECT_EQ(figures_of({5, 4, 2}).last_loss, 2);  // the mean of at least one step
}

TEST(Figures, AreValidIfTheLossFell) {
    EXPECT_EQ(figures_of({5, 4}).complaint, "");
    EXPECT_EQ(figures_of({5}).complaint, "");  // one step shows no trend
}

TEST(Figures, SplitTheBubbleByTheCauseOfWaiting) {
    const BubbleBreakdown parts = figures_of({4, 3}).break_down_bubble();  // of a bubble of 25 %

    EXPECT_EQ(parts.schedule, 0.125 / 2);
    EXPECT_EQ(parts.wait_tensor, 0.0625 / 2);
    EXPECT_EQ(parts.wait_data, 0.03125 / 2);
    EXPECT_DOUBLE_EQ(parts.schedule + parts.wait_tensor + parts.wait_data + parts.wait_other, 0.25);
}

std::vector<double> then(std::size_t count, double loss, double last) {
    std::vector<double> losses(count, loss);
    losses.push_back(last);
    return losses;
}

TEST(Figures, AreInvalidIfTheLossDidNotFall) {
    EXPECT_TRUE(
        says(figures_of(then(9, 4, 5)).complaint,
             "the loss did not fall: 4 in the first step, 5 on average in the last tenth of the steps"));
    EXPECT_TRUE(
        says(figures_of(then(9, 4, 4)).complaint,
             "the loss did not fall: 4 in the first step, 4 on average in the last tenth of the steps"));
}

TEST(Figures, RemarkOnRunsTooShortToJudgeTheLoss) {
    const Figures figures = figures_of({4, 5});

    EXPECT_EQ(figures.complaint, "");
    ASSERT_EQ(figures.remarks.size(), 1U);
    EXPECT_EQ(figures.remarks[0], "the loss did not fall, but 2 steps are too few to judge the run");
    EXPECT_TRUE(figures_of({5, 4}).remarks.empty());
}

// Considered by itself, the last start may begin close to the best possible loss.
TEST(Figures, JudgeTheLossOverAllStartsOfARun) {
    FigureSum sum(setup::count_model_flops(tiny(1, true)), 5280, 1);
    sum.resume_from({.count = 100, .first_loss = 9});
    sum.add(outcome_with(4));
    sum.add(outcome_with(5));

    const Figures figures = sum.finish({});

    EXPECT_EQ(figures.complaint, "");
    EXPECT_EQ(figures.first_loss, 9);
    EXPECT_EQ(figures.earlier_steps, 100U);
    EXPECT_TRUE(figures.remarks.empty());
}

TEST(Figures, NameRanksThatSkipMatmuls) {
    FigureSum sum(setup::count_model_flops(tiny(1, true)), 5280, 2);
    sum.add(outcome_with(5));
    sum.set_skipped_fractions({0, 0.5});
    for (int step = 0; step < 3; ++step) sum.add(outcome_with(4));

    const Figures figures = sum.finish({});

    EXPECT_EQ(figures.complaint, "");
    EXPECT_EQ(figures.approximations,
              std::vector<std::string>{"rank 1 skipped 37.5 % of the matmuls of its blocks"});
}

TEST(Figures, AreInvalidIfAStepExceedsThePeakRate) {
    FigureSum sum(setup::count_model_flops(tiny(1, true)), 2400, 1);  // a step has 5040 operations in 2 seconds
    sum.add(outcome_with(5));
    sum.add(outcome_with(4));

    EXPECT_TRUE(says(sum.finish({}).complaint, "step 1 ran at 2.52e-06 GFLOP/s, 105 % of the peak rate"));

    sum.add_peak_measurement(2600);

    EXPECT_EQ(sum.finish({}).complaint, "");
}

TEST(Figures, AreInvalidIfStepsWereSkipped) {
    FigureSum sum(setup::count_model_flops(tiny(1, true)), 5280, 1);
    sum.add(outcome_with(5));
    StepOutcome skipped = outcome_with(std::numeric_limits<double>::quiet_NaN());
    skipped.is_skipped = true;
    sum.add(skipped);
    sum.add(outcome_with(3));

    const Figures figures = sum.finish({});

    EXPECT_EQ(figures.steps, 3U);
    EXPECT_EQ(figures.skipped_steps, 1U);
    EXPECT_EQ(figures.first_loss, 5);
    EXPECT_EQ(figures.last_loss, 3);  // skipped steps do not count in the mean
    EXPECT_TRUE(says(figures.complaint, "1 of 3 steps was skipped"));
}

TEST(Figures, CountRolledBackUpdatesIfUpdatesAreSpeculative) {
    FigureSum sum(setup::count_model_flops(tiny(1, true)), 5280, 1);
    StepOutcome outcome = outcome_with(5);
    sum.add(outcome);
    EXPECT_EQ(sum.finish({}).rolled_back_updates, std::nullopt);

    for (const bool is_rolled_back : {false, true, true}) {
        outcome.is_rolled_back = is_rolled_back;
        sum.add(outcome);
    }

    EXPECT_EQ(sum.finish({}).rolled_back_updates, 2U);
}

// The last update can ruin a model whose losses were good until then.
TEST(Figures, AreInvalidIfTheValidationLossIsNotFinite) {
    const double nan = std::numeric_limits<double>::quiet_NaN();

    EXPECT_TRUE(says(figures_of({5, 4}, evaluation_with(nan)).complaint, "the validation loss is not finite"));
}

TEST(Figures, RemarkOnMemoryBeyondThePrediction) {
    EXPECT_EQ(make_memory_remark(18'000'000, 10'000'000), "");
    EXPECT_EQ(make_memory_remark(1'050'000'000, 1'000'000'000), "");
    EXPECT_EQ(make_memory_remark(5'000'000, 10'000'000), "");
    EXPECT_EQ(make_memory_remark(18'100'000, 10'000'000),
              "memory grew by 18.1 MB per rank, 8.1 MB more than predicted; reserve this much more if "
              "memory is scarce");
    EXPECT_TRUE(says(make_memory_remark(1'060'000'000, 1'000'000'000), "60.0 MB more"));
}

TEST(FigureSum, WeightsBubbleLimitsOfPlansByTheirTime) {
    FigureSum sum(setup::count_model_flops(tiny(1, true)), 5280, 3, 0.5);
    sum.add({.size = {.tokens = 1, .targets = 1}, .seconds = 1});
    sum.add_plan_change({.moved_bytes = 64, .seconds = 0.25}, 0.125);
    sum.add({.size = {.tokens = 1, .targets = 1}, .seconds = 3});

    const Figures figures = sum.finish(std::nullopt);

    EXPECT_EQ(figures.bubble_limit, (0.5 * 1 + 0.125 * 3) / 4);
    EXPECT_EQ(figures.plan_changes, 1U);
    EXPECT_EQ(figures.plan_change_seconds, 0.25);
    EXPECT_EQ(figures.moved_bytes, 64U);
    EXPECT_EQ(figures.seconds, 4);
}

}  // namespace
}  // namespace trireme::records
