#include "trireme/setup/step_bytes.hpp"

#include <gtest/gtest.h>

#include "unit/setup/small_plans.hpp"

namespace trireme::setup {
namespace {

using validation::grid;
using validation::small_gpt2;

constexpr std::size_t long_rows = 64;
constexpr std::size_t short_rows = 8;

// Predicts steps of eight micro-batches of one sample each.
class StepBytesOfLengths : public testing::TestWithParam<const char*> {
protected:
    StepBytesOfLengths() {
        config::RunConfig config = grid(4, 1, 1);
        config.schedule.microbatches = 8;
        config.schedule.schedule = GetParam();
        plan_ = plan_run(config, model_, 4);
    }

    // Returns the bytes of a step whose first micro-batches are long.
    std::size_t predict(std::size_t long_microbatches) const {
        const SizedPlan sized(model_, plan_, device::DType::f32, largest_);
        StepBytes bytes(sized, optimizer_, make_gradient_plan(sized), 4, false);
        std::vector<plan::MicrobatchShape> microbatches(8, plan::make_equal_length_shape(1, short_rows));
        std::fill_n(microbatches.begin(), long_microbatches, plan::make_equal_length_shape(1, long_rows));
        return bytes.predict_max_bytes(microbatches);
    }

    const model::ModelConfig model_ = small_gpt2();
    const optim::OptimizerConfig optimizer_ = {};
    const std::vector<stage::BatchShape> largest_{
        {.segments = {{.begin = 0, .length = long_rows}}, .rows = long_rows}};
    plan::Plan plan_;
};

TEST_P(StepBytesOfLengths, AreHardlyBelowTheMemoryOfTheRunIfAllMicrobatchesAreTheLargest) {
    const SizedPlan sized(model_, plan_, device::DType::f32, largest_);
    std::size_t most = 0;
    for (const RankMemory& memory :
         predict_memory_of_ranks(sized, &optimizer_, make_gradient_plan(sized), 4, false))
        most = std::max(most, memory.total());

    EXPECT_LE(predict(8), most);
    EXPECT_GE(static_cast<double>(predict(8)), 0.9 * static_cast<double>(most));
}

TEST_P(StepBytesOfLengths, AreNearThoseOfShortMicrobatchesIfOneIsLong) {
    const std::size_t of_short = predict(0);
    const std::size_t of_one_long = predict(1);
    const std::size_t of_long = predict(8);

    EXPECT_GT(of_one_long, of_short);
    EXPECT_LT(of_one_long - of_short, (of_long - of_short) / 2);
}

TEST_P(StepBytesOfLengths, FitUnlessARankExceedsItsLimit) {
    const SizedPlan sized(model_, plan_, device::DType::f32, largest_);
    StepBytes bytes(sized, optimizer_, make_gradient_plan(sized), 4, false);
    std::vector<plan::MicrobatchShape> microbatches(8, plan::make_equal_length_shape(1, short_rows));
    microbatches[2] = plan::make_equal_length_shape(1, long_rows);
    std::vector<std::size_t> needs(4);
    const std::vector<std::vector<std::size_t>> predicted = bytes.predict_bytes(microbatches);
    for (std::size_t team = 0; team < predicted.size(); ++team)
        needs[static_cast<std::size_t>(bytes.teams()[team].ranks[0].rank)] = predicted[team][0];

    EXPECT_TRUE(bytes.fit(microbatches, needs));
    for (std::size_t rank = 0; rank < needs.size(); ++rank) {
        std::vector<std::size_t> limits = needs;
        --limits[rank];
        EXPECT_FALSE(bytes.fit(microbatches, limits)) << "rank " << rank;
    }
}

INSTANTIATE_TEST_SUITE_P(Schedules, StepBytesOfLengths, testing::Values("gpipe", "1f1b", "zb-h1"),
                         [](const auto& schedule) {
                             std::string name = schedule.param;
                             std::erase(name, '-');
                             return name;
                         });

// The replicas of a stage need equal memory for equal micro-batches only.
TEST(StepBytes, CountTheMicrobatchesOfEveryReplica) {
    const model::ModelConfig model = small_gpt2();
    config::RunConfig config = grid(2, 2, 1);
    config.schedule.microbatches = 2;
    const plan::Plan plan = plan_run(config, model, 4);
    const std::vector<stage::BatchShape> largest{
        {.segments = {{.begin = 0, .length = long_rows}}, .rows = long_rows}};
    const SizedPlan sized(model, plan, device::DType::f32, largest);
    StepBytes bytes(sized, {}, make_gradient_plan(sized), 4, false);
    std::vector<plan::MicrobatchShape> microbatches(4, plan::make_equal_length_shape(1, short_rows));
    const std::size_t of_short = bytes.predict_max_bytes(microbatches);

    for (std::size_t m = 0; m < 4; ++m) {
        std::vector<plan::MicrobatchShape> with_long = microbatches;
        with_long[m] = plan::make_equal_length_shape(1, long_rows);
        EXPECT_GT(bytes.predict_max_bytes(with_long), of_short) << "micro-batch " << m;
    }
}

// Buffers of several steps are in use at once, so that every buffer has the size of the largest micro-batch.
TEST(StepBytes, DoNotDependOnLengthsIfStepsHaveCommonBuffers) {
    const model::ModelConfig model = small_gpt2();
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.microbatches = 4;
    config.schedule.schedule = "pipedream-2bw";
    const plan::Plan plan = plan_run(config, model, 2);
    const std::vector<stage::BatchShape> largest{
        {.segments = {{.begin = 0, .length = long_rows}}, .rows = long_rows}};
    const SizedPlan sized(model, plan, device::DType::f32, largest);
    StepBytes bytes(sized, {}, make_gradient_plan(sized), 2, false);

    EXPECT_EQ(bytes.predict_max_bytes(std::vector(4, plan::make_equal_length_shape(1, short_rows))),
              bytes.predict_max_bytes(std::vector(4, plan::make_equal_length_shape(1, long_rows))));
}

}  // namespace
}  // namespace trireme::setup
