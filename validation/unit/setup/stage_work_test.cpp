#include "trireme/setup/stage_work.hpp"

#include <gtest/gtest.h>

#include <random>

#include "trireme/model/model.hpp"

namespace trireme::setup {
namespace {

constexpr std::array all_recomputations{plan::Recompute::none, plan::Recompute::selective,
                                        plan::Recompute::full};

// A stage of a model of full width with two blocks, and the way in which its passes run.
struct Case {
    const char* name;
    const char* model;
    Task task;
    layout::Range layers;
    model::TensorPart part = {};
    stage::PassVariant variant = {};

    friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

const std::vector<Case> cases{
    {"gpt2", "gpt2", Task::language, {0, 7}},
    {"gpt2_first_stage", "gpt2", Task::language, {0, 2}},
    {"gpt2_middle_stage", "gpt2", Task::language, {2, 2}},
    {"gpt2_last_stage", "gpt2", Task::language, {4, 3}},
    {"gpt2_bf16", "gpt2", Task::language, {0, 7}, {}, {.dtype = device::DType::bf16}},
    {"gpt2_with_sequence_parallelism",
     "gpt2",
     Task::language,
     {0, 7},
     {.rank = 1, .shares = {1, 1}},
     {.cuts_rows = true}},
    {"gpt2_with_uneven_shares", "gpt2", Task::language, {0, 7}, {.rank = 1, .shares = {2, 1}}},
    {"llama", "llama-1b", Task::language, {0, 7}},
    {"bert", "bert-base", Task::masked, {0, 7}},
    {"bert_span", "bert-base", Task::span, {0, 7}},
    {"vit", "vit-base", Task::classify, {0, 7}},
};

class StageWorkCases : public ::testing::TestWithParam<Case> {
protected:
    StageWorkCases() {
        config_ = model::find_named_model(GetParam().model);
        config_.layers = 2;
        config_.task = GetParam().task;
        if (config_.labels == 0) config_.labels = 10;
    }

    std::size_t draw(std::size_t min, std::size_t max) {
        return std::uniform_int_distribution<std::size_t>(min, max)(generator_);
    }

    // Draws a packed or a padded micro-batch of 1 to 16 samples. In half of the micro-batches every row has a
    // target.
    stage::BatchShape draw_shape() {
        stage::BatchShape shape;
        const std::size_t samples = draw(1, 16);
        std::size_t longest = 0;
        for (std::size_t s = 0; s < samples; ++s) {
            const std::size_t length = config_.reads_images() ? config_.positions : draw(1, 300);
            shape.segments.push_back({.begin = shape.rows, .length = length});
            shape.rows += length;
            longest = std::max(longest, length);
        }
        if (config_.reads_images()) {
            shape.predicted_rows = samples;
            return shape;
        }
        if (draw(0, 1) == 0) shape.rows = samples * longest;
        const std::size_t ranks = GetParam().part.shares.size();
        shape.rows = (shape.rows + ranks - 1) / ranks * ranks;
        shape.predicted_rows = draw(0, 1) == 0 ? shape.rows : draw(0, shape.rows);
        return shape;
    }

    // Returns the picoseconds of kernels that are called one by one, as a simulated device executes them.
    // `clock` is a fraction of the highest clock.
    static double walk(const std::vector<stage::PassKernel>& kernels, const device::DeviceRates& rates,
                       double clock = 1) {
        double seconds = 0;
        for (const stage::PassKernel& kernel : kernels) seconds += rates.seconds(kernel.cost, clock);
        return 1e12 * seconds;
    }

    static plan::KernelSeconds make_kernel_seconds(const device::DeviceRates& rates, double clock = 1) {
        return [rates, clock](std::string_view kernel, const plan::KernelCall& call) {
            return rates.seconds(
                {.kernel = kernel, .flops = call.flops, .bytes = call.bytes, .matmul = call.matmul}, clock);
        };
    }

    model::ModelConfig config_;
    std::mt19937 generator_{7};
};

TEST_P(StageWorkCases, PredictsTheTimeOfEveryShape) {
    const device::DeviceRates gpu{.flops = 1e14, .bandwidth = 1e12, .launch = 3e-6};
    const plan::KernelSeconds seconds = make_kernel_seconds(gpu);
    for (const plan::Recompute recompute : all_recomputations) {
        const stage::StageSpec spec{
            .layers = GetParam().layers, .part = GetParam().part, .recompute = recompute};
        const plan::StageWork work = derive_stage_work(config_, spec, GetParam().variant);
        for (int trial = 0; trial < 70; ++trial) {
            const stage::BatchShape shape = draw_shape();
            const stage::TrainingWork walked = list_work(config_, spec, shape, GetParam().variant);

            const plan::TrainingCosts costs = work.predict_costs(count_shape(shape), seconds);

            const auto expect_near = [&](const plan::PassCost& cost, const stage::PassWork& pass) {
                const double picoseconds = walk(pass.kernels, gpu);
                EXPECT_NEAR(static_cast<double>(cost.kernel_picoseconds()), picoseconds, 1e-4 * picoseconds + 2)
                    << to_string(recompute) << ", " << shape.rows << " rows, " << *shape.predicted_rows
                    << " with a target";
                EXPECT_NEAR(cost.bytes_sent, static_cast<double>(pass.bytes_sent), 1e-3 * cost.bytes_sent);
                EXPECT_EQ(cost.messages_sent, static_cast<double>(pass.messages_sent));
            };
            expect_near(costs.forward, walked.forward);
            expect_near(costs.backward, walked.backward);
            expect_near(costs.backward_input, walked.backward_input);
            expect_near(costs.backward_weight, walked.backward_weight);
        }
    }
}

// The samples have equal lengths, every row has a target, and the clock is low.
TEST_P(StageWorkCases, PredictsExactlyWhatASimulatedDeviceExecutes) {
    const device::DeviceRates gpu{.flops = 1e14, .bandwidth = 1e12, .launch = 3e-6};
    for (const double clock : {1.0, 0.6}) {
        for (const plan::Recompute recompute : all_recomputations) {
            const stage::StageSpec spec{
                .layers = GetParam().layers, .part = GetParam().part, .recompute = recompute};
            const plan::StageWork work = derive_stage_work(config_, spec, GetParam().variant);
            stage::BatchShape shape;
            const std::size_t length = config_.reads_images() ? config_.positions : 256;
            for (std::size_t sample = 0; sample < 8; ++sample, shape.rows += length)
                shape.segments.push_back({.begin = shape.rows, .length = length});
            shape.predicted_rows = config_.reads_images() ? shape.segments.size() : shape.rows;
            const stage::TrainingWork walked = list_work(config_, spec, shape, GetParam().variant);

            const plan::TrainingCosts costs =
                work.predict_costs(count_shape(shape), make_kernel_seconds(gpu, clock));

            const auto expect_equal = [&](const plan::PassCost& cost, const stage::PassWork& pass) {
                const double picoseconds = walk(pass.kernels, gpu, clock);
                constexpr double rounding = 1;  // two sums in whole picoseconds
                EXPECT_NEAR(static_cast<double>(cost.kernel_picoseconds()), picoseconds,
                            1e-9 * picoseconds + rounding)
                    << to_string(recompute);
            };
            expect_equal(costs.forward, walked.forward);
            expect_equal(costs.backward, walked.backward);
            expect_equal(costs.backward_input, walked.backward_input);
            expect_equal(costs.backward_weight, walked.backward_weight);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, StageWorkCases, ::testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace trireme::setup
