#include "trireme/tools/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <sstream>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/stage/predict.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme::tools {
namespace {

using validation::catch_message;
using validation::says;
using validation::ScratchFolder;
using validation::sharable;

// Two samples of 4 rows, or two images, for a model of any family and task.
struct TwoSamples {
    explicit TwoSamples(const model::ModelConfig& config) : model(config), pixels(2 * 4 * 8, 0.5F) {
        const std::size_t length = config.reads_images() ? config.positions : 4;
        for (std::size_t row = 0; row < 2 * length; ++row) {
            numbers.push_back(static_cast<std::int32_t>(row % length));
            zeros.push_back(0);
            visits.push_back(static_cast<std::int64_t>(row / length));
        }
        segments = {{.begin = 0, .length = length}, {.begin = length, .length = length, .sample = 1}};
    }

    model::TokenBatch view() const {
        const std::size_t rows = numbers.size();
        const bool has_images = model.reads_images();
        const device::ConstTensor ids{numbers.data(), device::DType::i32, 1, rows, rows};
        const device::ConstTensor none{zeros.data(), device::DType::i32, 1, rows, rows};
        return {.tokens = has_images ? none : ids,
                .positions = ids,
                .types = none,
                .visits = {visits.data(), device::DType::i64, 1, rows, rows},
                .segments = segments,
                .predicted_rows = {predicted.data(), device::DType::i32, 1, 2, 2},
                .targets = none.column_range(0, 2),
                .answers = {spans.data(), device::DType::i32, 2, 2, 2},
                .contexts = {spans.data(), device::DType::i32, 2, 2, 2},
                .pixels = {pixels.data(), device::DType::f32, has_images ? 8U : 0U, 8, 8}};
    }

    model::ModelConfig model;
    std::vector<std::int32_t> numbers, zeros;
    std::vector<std::int32_t> predicted = {0, 4};
    std::vector<std::int32_t> spans = {0, 1, 0, 1};
    std::vector<std::int64_t> visits;
    std::vector<kernels::Segment> segments;
    std::vector<float> pixels;
};

ProfileSubject describe_subject(const TwoSamples& samples, const model::TokenBatch& batch,
                                device::DType dtype = device::DType::f32) {
    return {.model = samples.model,
            .batch = batch,
            .dtype = dtype,
            .optimizer = {},
            .stream = {.backend = device::CpuStream{.threads = 1}}};
}

plan::Profile profile_of(const model::ModelConfig& model, device::DType dtype = device::DType::f32) {
    const TwoSamples samples(model);
    const model::TokenBatch batch = samples.view();
    return measure_profile(describe_subject(samples, batch, dtype), 1);
}

TEST(MeasureProfile, NamesWhatWasMeasured) {
    const plan::Profile profile = profile_of(sharable(model::Family::gpt2, Task::language), device::DType::f64);

    EXPECT_EQ(profile.model, "gpt2");
    EXPECT_EQ(profile.dtype, "f64");
    EXPECT_EQ(profile.device, "cpu");
    EXPECT_EQ(profile.threads, 1);
    EXPECT_EQ(profile.microbatch, (plan::MicrobatchShape{2, 8, 8, 32, 2}));
    EXPECT_TRUE(profile.links.empty());
}

TEST(MeasureProfile, MeasuresEqualLayersOnce) {
    const plan::Profile profile = profile_of(sharable(model::Family::gpt2, Task::language));

    std::vector<std::string> names;
    std::vector<std::size_t> sources;
    for (const plan::LayerProfile& layer : profile.layers) {
        names.push_back(layer.name);
        sources.push_back(layer.measured);
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"embedding", "attention", "mlp", "attention", "mlp", "norm", "head"}));
    EXPECT_EQ(sources, (std::vector<std::size_t>{0, 1, 2, 1, 2, 5, 6}));
    EXPECT_EQ(profile.layers[1], profile.layers[3]);
}

TEST(MeasureProfile, MeasuresEveryLayerOfEveryFamily) {
    for (const model::ModelConfig& model : validation::make_small_models()) {
        const plan::Profile profile = profile_of(model);

        ASSERT_EQ(profile.layers.size(), build_layers(model).size());
        for (const plan::LayerProfile& layer : profile.layers) {
            EXPECT_GT(layer.forward + layer.backward, 0) << model.name << ' ' << layer.name;
            EXPECT_GT(layer.backward_input + layer.backward_weight, 0) << model.name << ' ' << layer.name;
            EXPECT_GT(layer.update, 0) << model.name << ' ' << layer.name;
        }
    }
}

bool has_kernel(const plan::Profile& profile, const std::string& name,
                const std::function<bool(const plan::KernelCall&)>& matches) {
    return std::ranges::any_of(profile.kernels, [&](const plan::KernelProfile& each) {
        return each.kernel == name && matches(each.call);
    });
}

bool has_matmul(const plan::Profile& profile, const std::array<std::size_t, 3>& matmul) {
    return has_kernel(profile, "linear", [&](const plan::KernelCall& call) { return call.matmul == matmul; });
}

// The kernels include the MLP of width 16 on two samples of 4 rows, complete and split between two tensor
// ranks.
TEST(MeasureProfile, MeasuresKernelsOnMicrobatchesOfSeveralSizes) {
    const model::ModelConfig model = sharable(model::Family::gpt2, Task::language);
    const plan::Profile profile = profile_of(model);

    for (const std::size_t rows : {2, 4, 8, 16}) {
        EXPECT_TRUE(has_matmul(profile, {rows, model.mlp_width, 16})) << rows;
        EXPECT_TRUE(has_matmul(profile, {rows, model.mlp_width / 2, 16})) << rows;
    }
    for (const plan::KernelProfile& each : profile.kernels) {
        EXPECT_GT(each.seconds, 0) << each.kernel;
        EXPECT_GT(each.call.bytes, 0) << each.kernel;
        EXPECT_GT(each.calls, 0U) << each.kernel;
    }
}

TEST(MeasureProfile, MeasuresUpdatesNormsAndCopiesOfSmallAndLargeSizes) {
    const plan::Profile profile = profile_of(sharable(model::Family::gpt2, Task::language));

    for (const char* const name : {"adamw", "sum_of_squares", "fill", "copy"}) {
        EXPECT_TRUE(has_kernel(profile, name, [](const plan::KernelCall& call) { return call.bytes < 1e4; }))
            << name;
        EXPECT_TRUE(has_kernel(profile, name, [](const plan::KernelCall& call) { return call.bytes > 1e7; }))
            << name;
    }
}

TEST(MeasureProfile, MeasuresAttentionOfEveryFamily) {
    for (const model::ModelConfig& model : validation::make_small_models()) {
        const plan::Profile profile = profile_of(model);

        EXPECT_TRUE(has_kernel(profile, "attention", [](const plan::KernelCall& call) {
            return call.flops > 0;
        })) << model.name;
    }
}

// A stage keeps the sum of what its layers keep, as the memory prediction for the stage confirms.
TEST(MeasureProfile, MatchesThePredictedMemoryOfStages) {
    const model::ModelConfig model = sharable(model::Family::gpt2, Task::language);
    const TwoSamples samples(model);
    const plan::Profile profile = profile_of(model);

    for (const layout::Range stage : {layout::Range{0, 3}, layout::Range{1, 2}, layout::Range{2, 4},
                                      layout::Range{3, 4}, layout::Range{0, 7}}) {
        std::size_t kept = 0;
        std::size_t workspace = 0;
        for (std::size_t l = stage.begin; l < stage.end(); ++l) {
            kept += profile.layers[l].activation;
            workspace = std::max(workspace, profile.layers[l].workspace);
        }
        const stage::StageMemory memory = stage::predict(model, {.layers = stage}, {samples.segments, 8}, {});

        EXPECT_EQ(kept, memory.activations);
        EXPECT_GE(workspace, memory.scratch + memory.block_activations);
    }
    EXPECT_EQ(profile.layers[0].rows, 8U * 16 * 4);
    EXPECT_EQ(profile.layers[0].parameters, (19U + 10) * 16 * 4);
    EXPECT_EQ(profile.layers[6].rows, 0U);
    EXPECT_EQ(profile.layers[6].parameters, 19U * 16 * 4);  // the head holds the table, too
}

TEST(Profile, IsWrittenCompletelyAndPrinted) {
    const ScratchFolder folder;
    const TwoSamples samples(sharable(model::Family::gpt2, Task::language));
    const model::TokenBatch batch = samples.view();
    folder.write("profile.json", "an old one");
    std::ostringstream out;

    profile({.output = folder.file("profile.json"), .repeats = 3}, describe_subject(samples, batch), out);

    const plan::Profile read = plan::parse_profile(validation::read_whole(folder.file("profile.json")), "it");
    EXPECT_EQ(read.layers.size(), 7U);
    EXPECT_EQ(read.repeats, 3U);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"profile.json"});
    EXPECT_TRUE(says(out.str(), "gpt2 in f32, 8 rows in a micro-batch of 2 samples, 1 thread\n"));
    EXPECT_TRUE(says(out.str(), "\nattention "));
    EXPECT_TRUE(says(out.str(), "all 7 layers: "));
}

TEST(Profile, RejectsAnUnwritableOutputBeforeMeasuring) {
    const ScratchFolder folder;
    const TwoSamples samples(sharable(model::Family::gpt2, Task::language));
    const model::TokenBatch batch = samples.view();
    std::ostringstream out;
    const auto refusal = [&](const std::string& output) {
        return catch_message<ConfigError>(
            [&] { profile({.output = output}, describe_subject(samples, batch), out); });
    };

    EXPECT_TRUE(says(refusal(folder.file("none/profile.json")), "does not exist; create it"));
    EXPECT_TRUE(says(refusal(folder.file("")), "is a folder; name a file in it"));
    EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace trireme::tools
