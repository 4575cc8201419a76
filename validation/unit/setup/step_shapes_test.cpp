#include "trireme/setup/step_shapes.hpp"

#include <gtest/gtest.h>

namespace trireme::setup {
namespace {

// Returns a job without a corpus whose training samples have three and two tokens.
Job make_synthetic_job() {
    Job job;
    job.samples.train = {{.length = 3}, {.length = 2}};
    return job;
}

TEST(BatchShape, PadsSamplesAfterTheirLastToken) {
    const Job job = make_synthetic_job();

    const stage::BatchShape shape = make_batch_shape(job, {.samples = {{0, 1}, {0, 0}}, .padded_length = 4});

    EXPECT_EQ(shape.rows, 8U);
    ASSERT_EQ(shape.segments.size(), 2U);
    EXPECT_EQ(shape.segments[0].length, 2U);
    EXPECT_EQ(shape.segments[1].begin, 4U);
    EXPECT_EQ(shape.segments[1].length, 3U);
}

TEST(BatchShape, PacksSamplesWithoutPadding) {
    const Job job = make_synthetic_job();

    const stage::BatchShape shape = make_batch_shape(job, {.samples = {{0, 1}, {0, 0}}, .padded_length = 0});

    EXPECT_EQ(shape.rows, 5U);
    ASSERT_EQ(shape.segments.size(), 2U);
    EXPECT_EQ(shape.segments[1].begin, 2U);
}

TEST(BatchShape, HasATargetInEveryRowOfASyntheticSample) {
    const Job job = make_synthetic_job();

    const stage::BatchShape shape = make_batch_shape(job, {.samples = {{0, 0}, {0, 1}}, .padded_length = 4});

    EXPECT_EQ(shape.predicted_rows, 5U);
}

}  // namespace
}  // namespace trireme::setup
