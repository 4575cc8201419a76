#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/optim/optimizer.hpp"

namespace trireme::optim {
namespace {

OptimizerConfig with(RateSchedule schedule, std::size_t warmup = 0) {
    return {.rate = 1, .min_rate = 0.25, .schedule = schedule, .warmup_steps = warmup};
}

TEST(LearningRate, RisesLinearlyDuringWarmup) {
    const OptimizerConfig config = with(RateSchedule::constant, 4);

    EXPECT_EQ(compute_learning_rate(config, 0, 100), 0.25);
    EXPECT_EQ(compute_learning_rate(config, 3, 100), 1);
    EXPECT_EQ(compute_learning_rate(config, 99, 100), 1);
}

TEST(LearningRate, FallsLinearly) {
    const OptimizerConfig config = with(RateSchedule::linear);

    EXPECT_EQ(compute_learning_rate(config, 0, 4), 1);
    EXPECT_EQ(compute_learning_rate(config, 2, 4), 0.625);
    EXPECT_EQ(compute_learning_rate(config, 4, 4), 0.25);
}

TEST(LearningRate, FallsAlongHalfACosine) {
    const OptimizerConfig config = with(RateSchedule::cosine, 10);

    EXPECT_DOUBLE_EQ(compute_learning_rate(config, 10, 30), 1);
    EXPECT_DOUBLE_EQ(compute_learning_rate(config, 20, 30), 0.625);
    EXPECT_DOUBLE_EQ(compute_learning_rate(config, 30, 30), 0.25);
}

TEST(LearningRate, FallsOverTheLastTenthWithWsd) {
    const OptimizerConfig config = with(RateSchedule::wsd);

    EXPECT_EQ(compute_learning_rate(config, 89, 100), 1);
    EXPECT_EQ(compute_learning_rate(config, 90, 100), 1);
    EXPECT_DOUBLE_EQ(compute_learning_rate(config, 95, 100), 0.625);
    EXPECT_DOUBLE_EQ(compute_learning_rate(config, 100, 100), 0.25);
}

TEST(LearningRate, StaysAtItsPeakIfTheDecayHasNoSteps) {
    EXPECT_EQ(compute_learning_rate(with(RateSchedule::cosine, 5), 5, 5), 1);
    EXPECT_EQ(compute_learning_rate(with(RateSchedule::wsd), 0, 1), 1);
}

TEST(Clip, ScalesOnlyNormsAboveTheLimit) {
    EXPECT_EQ(compute_clip_scale(0.5, 1), 1);
    EXPECT_NEAR(compute_clip_scale(4, 1), 0.25, 1e-6);
    EXPECT_EQ(compute_clip_scale(4, 0), 1);
}

TEST(OptimizerConfig, NamesTheOptionThatIsOutOfRange) {
    try {
        check_optimizer({.beta2 = 1});
        FAIL() << "beta2 = 1 was accepted";
    } catch (const ConfigError& error) {
        EXPECT_STREQ(error.what(), "--beta2 1 is outside [0, 1)");
    }
}

TEST(LearningRate, FallsOverTheHorizonAndStaysAtItsMinimum) {
    OptimizerConfig config = with(RateSchedule::cosine);
    config.horizon = 20;

    for (const double step : {0, 7, 20})
        EXPECT_EQ(compute_learning_rate(config, step, 100), compute_learning_rate(config, step, 20));
    EXPECT_EQ(compute_learning_rate(config, 60, 100), 0.25);
}

}  // namespace
}  // namespace trireme::optim
