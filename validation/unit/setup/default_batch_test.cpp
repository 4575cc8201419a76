#include <gtest/gtest.h>

#include <limits>

#include "trireme/setup/batch_advice.hpp"

namespace trireme::setup {
namespace {

config::RunConfig with_microbatches(std::size_t count) {
    config::RunConfig config;
    config.schedule.microbatches = count;
    return config;
}

TEST(DefaultBatch, StaysIfEveryMicrobatchHasASample) {
    config::RunConfig config = with_microbatches(4);

    fit_default_batch(config, 2);

    EXPECT_EQ(config.run.batch, 8U);
    EXPECT_TRUE(config.run.is_batch_set);
    EXPECT_FALSE(config.run.is_batch_raised);
}

TEST(DefaultBatch, RisesToOneSampleForEachMicrobatchOfAllReplicas) {
    config::RunConfig counted = with_microbatches(8);
    counted.layout.pipe = 2;
    config::RunConfig given = with_microbatches(3);
    given.layout.data = 5;
    config::RunConfig of_file = with_microbatches(12);
    of_file.layout.layout = "layout.json";

    for (config::RunConfig* config : {&counted, &given, &of_file}) fit_default_batch(*config, 8);

    EXPECT_EQ(counted.run.batch, 32U);  // 8 ranks / pipe 2 = 4 replicas
    EXPECT_EQ(given.run.batch, 15U);
    EXPECT_EQ(of_file.run.batch, 12U);  // 12 micro-batches in all
    EXPECT_TRUE(counted.run.is_batch_raised);
}

TEST(DefaultBatch, DoesNotReplaceAGivenBatch) {
    config::RunConfig config = with_microbatches(16);
    config.run.batch = 4;
    config.run.is_batch_set = true;

    fit_default_batch(config, 8);

    EXPECT_EQ(config.run.batch, 4U);
    EXPECT_FALSE(config.run.is_batch_raised);
}

TEST(DefaultBatch, IsUnchangedForNumbersThatWouldOverflow) {
    config::RunConfig config = with_microbatches(std::numeric_limits<std::size_t>::max());
    config.layout.pipe = std::numeric_limits<int>::max();
    config.layout.tensor = std::numeric_limits<int>::max();

    fit_default_batch(config, 8);

    EXPECT_EQ(config.run.batch, 8U);
}

}  // namespace
}  // namespace trireme::setup
