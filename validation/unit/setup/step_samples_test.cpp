#include "trireme/setup/step_samples.hpp"

#include <gtest/gtest.h>

namespace trireme::setup {
namespace {

constexpr StepSamples of_options{.batch = 10, .first_batch = 10, .first_pipelines = 2, .all = 100};

TEST(StepSamples, VisitTheSamplesOfTheRunInEqualSteps) {
    EXPECT_EQ(of_options.count_visits(3), 30U);
    EXPECT_EQ(of_options.find_step(30), 3U);
    EXPECT_EQ(of_options.find_step(31), 4U);
    EXPECT_EQ(of_options.count_steps(), 10U);
}

TEST(StepSamples, KeepThePositionWhenTheBatchGrows) {
    const StepSamples grown = of_options.change_batch(4, of_options.grow_batch(6));

    EXPECT_EQ(grown.batch, 30U);
    EXPECT_EQ(grown.count_visits(4), 40U);
    EXPECT_EQ(grown.count_visits(5), 70U);
    EXPECT_EQ(grown.count_steps(), 6U);  // the last step visits 100 of the samples, and none is left
    const StepSamples shrunk = grown.change_batch(5, grown.grow_batch(1));
    EXPECT_EQ(shrunk.batch, 5U);
    EXPECT_EQ(shrunk.count_visits(7), 80U);
    EXPECT_EQ(shrunk.count_steps(), 11U);
}

TEST(StepSamples, DoNotChangeBeforeAResume) {
    StepSamples resumed = of_options;
    resumed.first_step = 6;
    resumed.first_sample = 80;

    const StepSamples changed = resumed.change_batch(4, 20);

    EXPECT_EQ(changed.count_visits(6), 80U);
    EXPECT_EQ(changed.count_visits(5), 60U);  // the last step before the resume had the same plan
    EXPECT_EQ(changed.count_steps(), 7U);
}

// The schedule follows the samples, and the rate the size of the step.
TEST(StepSamples, ScaleTheLearningRate) {
    optim::OptimizerConfig config;
    config.rate = 1;
    config.min_rate = 0;
    config.schedule = optim::RateSchedule::linear;
    config.warmup_steps = 0;

    EXPECT_DOUBLE_EQ(of_options.find_rate(config, 7), 0.3);
    const StepSamples grown = of_options.change_batch(4, 30);
    EXPECT_DOUBLE_EQ(grown.find_rate(config, 4), 3 * 0.6);
    EXPECT_DOUBLE_EQ(grown.find_rate(config, 5), 3 * 0.3);
}

}  // namespace
}  // namespace trireme::setup
