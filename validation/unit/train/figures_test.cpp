#include "train/figures.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "error_message.hpp"

namespace trireme {
namespace {

using validation::says;

// A block has 8 + 8 numbers in its norms, 4 * 12 + 12 and 4 * 4 + 4 in its attention, 4 * 8 + 8 and 8 * 4 + 4
// in its MLP: 172. The last norm has 8, the head 5 * 4; the 3 * 4 of the position table are only looked up.
ModelConfig tiny(std::size_t layers, bool tied) {
    return {.name = "tiny",
            .layers = layers,
            .width = 4,
            .heads = 2,
            .mlp_width = 8,
            .positions = 3,
            .vocabulary = 5,
            .tied = tied};
}

TEST(ModelFlops, CountTheParametersThatMultiply) {
    EXPECT_EQ(model_flops(tiny(1, true)).matrix_parameters, 172 + 8 + 20);
    EXPECT_EQ(model_flops(tiny(2, true)).matrix_parameters, 2 * 172 + 8 + 20);
}

// A tied table multiplies as the head; an untied one is only looked up, and a head of its own multiplies.
TEST(ModelFlops, AreTheSameForATiedAndAnUntiedHead) {
    EXPECT_EQ(model_flops(tiny(1, false)).matrix_parameters, 172 + 8 + 20);
    EXPECT_EQ(model_flops(tiny(3, false)).matrix_parameters, model_flops(tiny(3, true)).matrix_parameters);
}

TEST(ModelFlops, TakeAttentionFromLayersAndWidth) {
    EXPECT_EQ(model_flops(tiny(3, true)).attention_factor, 3 * 4);
}

// Samples of 3 and 1 tokens: (6 * 200 + 12 * 1 * 4 * (9 + 1) / (3 + 1)) * 4 = 4800 + 480.
TEST(ModelFlops, OfAStepFollowTheLengthsOfItsSamples) {
    const ModelFlops flops = model_flops(tiny(1, true));

    EXPECT_EQ(flops.of_step(4, 10), 5280);
    EXPECT_EQ(flops.of_step(4, 10, 6), 5040);
    EXPECT_EQ(flops.of_step(0, 0), 0);
}

StepOutcome outcome_with(double loss) {
    return {.loss = loss,
            .tokens = 4,
            .padded_tokens = 6,
            .square_length_sum = 10,
            .seconds = 2,
            .compute_seconds = 1.5,
            .wait_seconds = 0.25};
}

Figures figures_of(const std::vector<double>& losses, std::optional<double> validation_loss = {}) {
    FigureSum sum(model_flops(tiny(1, true)), 5280, 3);
    for (const double loss : losses) sum.add(outcome_with(loss));
    return sum.finish(validation_loss);
}

TEST(Figures, AddUpTheSteps) {
    const Figures figures = figures_of({4, 3}, 3.5);

    EXPECT_EQ(figures.steps, 2U);
    EXPECT_EQ(figures.skipped_steps, 0U);
    EXPECT_EQ(figures.seconds, 4);
    EXPECT_EQ(figures.tokens, 8U);
    EXPECT_EQ(figures.padded_tokens, 12U);
    EXPECT_EQ(figures.flops, 2 * 5280);
    EXPECT_EQ(figures.causal_flops, 2 * 5040);
    EXPECT_EQ(figures.compute_seconds, 3);
    EXPECT_EQ(figures.wait_seconds, 0.5);
    EXPECT_EQ(figures.ranks, 3);
    EXPECT_EQ(figures.validation_loss, 3.5);
}

// 2 * 5280 operations in 4 seconds where 5280 a second were possible.
TEST(Figures, StandBesideTheirLimit) {
    const Figures figures = figures_of({4, 3});

    EXPECT_EQ(figures.peak_flops, 5280);
    EXPECT_EQ(figures.mfu(), 0.5);
    EXPECT_DOUBLE_EQ(figures.mfu_causal(), 0.5 * 5040 / 5280);
    EXPECT_EQ(figures.tokens_per_second(), 2);
    EXPECT_EQ(figures.bubble(), 0.25);
    EXPECT_FALSE(figures.validation_loss.has_value());
}

TEST(Figures, TakeTheMeanOfTheLastTenthOfTheLosses) {
    std::vector<double> losses(18, 9);
    losses.insert(losses.end(), {4, 2});

    EXPECT_EQ(figures_of(losses).first_loss, 9);
    EXPECT_EQ(figures_of(losses).last_loss, 3);
    EXPECT_EQ(figures_of({5, 4, 2}).last_loss, 2);  // at least one step
}

TEST(Figures, AreValidWhereTheLossFell) {
    EXPECT_EQ(figures_of({5, 4}).complaint, "");
    EXPECT_EQ(figures_of({5}).complaint, "");  // one step shows nothing
}

TEST(Figures, AreInvalidWhereTheLossDidNotFall) {
    EXPECT_TRUE(says(figures_of({4, 5}).complaint, "the loss did not fall: 4 at first, 5 at last"));
    EXPECT_TRUE(says(figures_of({4, 4}).complaint, "the loss did not fall: 4 at first, 4 at last"));
}

TEST(Figures, AreInvalidWhereStepsWereSkipped) {
    FigureSum sum(model_flops(tiny(1, true)), 5280, 1);
    sum.add(outcome_with(5));
    StepOutcome skipped = outcome_with(std::numeric_limits<double>::quiet_NaN());
    skipped.is_skipped = true;
    sum.add(skipped);
    sum.add(outcome_with(3));

    const Figures figures = sum.finish({});

    EXPECT_EQ(figures.steps, 3U);
    EXPECT_EQ(figures.skipped_steps, 1U);
    EXPECT_EQ(figures.first_loss, 5);
    EXPECT_EQ(figures.last_loss, 3);  // what was skipped has no part in a mean
    EXPECT_TRUE(says(figures.complaint, "1 of 3 steps were skipped"));
}

// The update of the last step can ruin a model whose losses until then were well.
TEST(Figures, AreInvalidWhereTheModelEndsWithoutAFiniteLoss) {
    const double nan = std::numeric_limits<double>::quiet_NaN();

    EXPECT_TRUE(says(figures_of({5, 4}, nan).complaint, "the validation loss is not finite"));
}

}  // namespace
}  // namespace trireme
