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

// A model, the ranks of a tensor group, and a property of its passes.
struct FamilyCase {
    const char* name;
    const char* model;
    Task task;
    model::TensorPart part = {};
    bool cuts_rows = false;

    friend void PrintTo(const FamilyCase& c, std::ostream* out) { *out << c.name; }
};

const std::vector<FamilyCase> families{
    {"gpt2", "gpt2", Task::language},
    {"gpt2_with_untied_table", "gpt2", Task::language},
    {"gpt2_with_tensor_ranks", "gpt2", Task::language, {.rank = 1, .shares = {2, 1, 1}}},
    {"gpt2_with_sequence_parallelism", "gpt2", Task::language, {.rank = 0, .shares = {1, 1}}, true},
    {"llama", "llama-1b", Task::language},
    {"llama_with_tensor_ranks", "llama-1b", Task::language, {.rank = 1, .shares = {1, 1}}},
    {"bert", "bert-base", Task::masked},
    {"bert_span", "bert-base", Task::span},
    {"vit", "vit-base", Task::classify},
};

class FamilyCases : public ::testing::TestWithParam<FamilyCase> {
protected:
    static constexpr std::size_t blocks = 6;

    FamilyCases() {
        config_ = model::find_named_model(GetParam().model);
        config_.layers = blocks;
        config_.task = GetParam().task;
        config_.tied = std::string_view(GetParam().name) != "gpt2_with_untied_table" && config_.tied;
        if (config_.labels == 0) config_.labels = 10;
        layers_ = model::list_kinds(config_).size();
        variant_ = {.cuts_rows = GetParam().cuts_rows};
    }

    // Expects that StageWorks finds the work that all blocks of the stage have together.
    void expect_equal_work(layout::Range layers, plan::Recompute recompute, std::size_t first_trained_layer) {
        const stage::StageSpec spec{.layers = layers,
                                    .part = GetParam().part,
                                    .recompute = recompute,
                                    .first_trained_layer = first_trained_layer};
        const plan::StageWork& found = works_.find(spec, variant_);

        EXPECT_TRUE(found == derive_stage_work(config_, spec, variant_))
            << "layers " << layers.begin << " to " << layers.end() - 1 << ", trained from "
            << first_trained_layer << ", " << to_string(recompute);
    }

    model::ModelConfig config_;
    std::size_t layers_ = 0;
    stage::PassVariant variant_;
    StageWorks works_{config_};
};

TEST_P(FamilyCases, FindsTheWorkOfStagesWithWholeBlocks) {
    for (const plan::Recompute recompute : all_recomputations)
        for (const std::size_t frozen : {0U, 1U, 3U, 5U, 6U})
            for (const layout::Range layers : {layout::Range{0, layers_}, layout::Range{0, 9},
                                               layout::Range{1, 12}, layout::Range{3, layers_ - 3}})
                expect_equal_work(layers, recompute, plan::find_first_trained_layer(static_cast<int>(frozen)));
}

TEST_P(FamilyCases, FindsTheWorkOfStagesThatBeginOrEndWithHalfABlock) {
    for (const plan::Recompute recompute : all_recomputations)
        for (const std::size_t frozen : {0U, 2U, 4U})
            for (const layout::Range layers : {layout::Range{0, 12}, layout::Range{2, 10}, layout::Range{2, 11},
                                               layout::Range{4, layers_ - 4}, layout::Range{6, 1}})
                expect_equal_work(layers, recompute, plan::find_first_trained_layer(static_cast<int>(frozen)));
}

INSTANTIATE_TEST_SUITE_P(Models, FamilyCases, ::testing::ValuesIn(families),
                         [](const auto& test) { return std::string(test.param.name); });

// Channels that are skipped depend on the variant, so that such work is derived from all blocks.
TEST(StageWorks, KeepsVariantsApart) {
    model::ModelConfig config = model::find_named_model("gpt2");
    config.layers = 5;
    const stage::StageSpec spec{.layers = {1, 10}, .part = {.rank = 0, .shares = {1, 1}}};
    StageWorks works(config);
    for (const stage::PassVariant& variant : std::vector<stage::PassVariant>{
             {},
             {.dtype = device::DType::bf16},
             {.cuts_rows = true},
             {.resizing_limit = 0.5},
             {.migrations = {{.from = 0, .to = 1, .fractions = {0.25, 0.25, 0.25, 0.25}}}},
             {.migrations = {{.from = 0, .to = 1, .fractions = {0.5, 0.25, 0.25, 0.25}}}}})
        EXPECT_TRUE(works.find(spec, variant) == derive_stage_work(config, spec, variant));
}

}  // namespace
}  // namespace trireme::setup
