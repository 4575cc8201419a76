#include <map>
#include <memory>

#include "tools/profile/lone_layer.hpp"
#include "tools/profile/measurements.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/tools/profile.hpp"

namespace trireme::tools {
namespace {

// A layer and its times in all rounds.
class TimedLayer {
public:
    TimedLayer(const LoneLayerSpec& spec, device::Stream& stream) : stream_(stream), layer_(spec, stream) {}

    void take_round() {
        forward_.push_back(seconds_of([&] { layer_.forward(); }));
        backward_.push_back(seconds_of([&] { layer_.backward(); }));
        layer_.forward();
        backward_input_.push_back(seconds_of([&] { layer_.backward_input(); }));
        backward_weight_.push_back(seconds_of([&] { layer_.backward_weight(); }));
        update_.push_back(seconds_of([&] { layer_.update(); }));
    }

    void forget_rounds() {
        for (auto* times : {&forward_, &backward_, &backward_input_, &backward_weight_, &update_})
            times->clear();
    }

    void set_medians(plan::LayerProfile& profile) {
        profile.forward = median_of(forward_);
        profile.backward = median_of(backward_);
        profile.backward_input = median_of(backward_input_);
        profile.backward_weight = median_of(backward_weight_);
        profile.update = median_of(update_);
    }

private:
    template <class Act>
    double seconds_of(Act&& act) {
        const double begin = device::now_seconds();
        act();
        stream_.settle();
        return device::now_seconds() - begin;
    }

    device::Stream& stream_;
    LoneLayer layer_;
    std::vector<double> forward_, backward_, backward_input_, backward_weight_, update_;
};

// Returns both halves of the block that contains layer `l`, or the layer alone if it is in no block.
layout::Range block_of(const std::vector<model::Layer>& layers, std::size_t l) {
    if (std::holds_alternative<model::AttentionHalf>(layers[l])) return {l, 2};
    if (std::holds_alternative<model::MlpHalf>(layers[l])) return {l - 1, 2};
    return {l, 1};
}

LoneLayerSpec spec_of(const ProfileSubject& subject, std::size_t layer) {
    return {.model = subject.model,
            .layer = layer,
            .batch = subject.batch,
            .dtype = subject.dtype,
            .optimizer = subject.optimizer};
}

using TimedLayers = std::map<std::size_t, std::unique_ptr<TimedLayer>>;  // by layer number

TimedLayers timed_layers(const std::vector<std::size_t>& first, ProfileSubject& subject, std::size_t repeats) {
    TimedLayers timed;
    for (const std::size_t l : first) {
        if (!timed.contains(l))
            timed.emplace(l, std::make_unique<TimedLayer>(spec_of(subject, l), subject.stream));
    }
    const auto take_round = [&] {
        for (const auto& [l, layer] : timed) {
            layer->take_round();
            subject.note_measurement();
        }
    };
    take_round();  // warm-up: touches pages and compiles kernels
    for (const auto& [l, layer] : timed) layer->forget_rounds();
    for (std::size_t r = 0; r < repeats; ++r) take_round();
    return timed;
}

void set_bytes(const std::vector<model::Layer>& layers, const LoneLayerSpec& spec,
               plan::LayerProfile& profile) {
    const std::size_t number = bytes_of(spec.dtype);
    const stage::StageMemory block =
        memory_of(spec, block_of(layers, spec.layer), stage::BackwardHalves::together);
    profile.activation = memory_of(spec, {spec.layer, 1}, stage::BackwardHalves::together).activations;
    profile.workspace = block.scratch + block.again + block.exchange;
    if (spec.layer + 1 < layers.size()) profile.rows = spec.batch.rows() * spec.model.width * number;
    for (const model::ParameterSpec& each : parameters_of(layers[spec.layer]))
        profile.parameters += each.size() * number;
}

std::vector<plan::KernelProfile> measure_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                 std::size_t repeats) {
    std::vector<plan::KernelProfile> kernels = measure_layer_kernels(subject, grid, repeats);
    const std::vector<plan::KernelProfile> flat = measure_flat_kernels(subject, repeats);
    kernels.insert(kernels.end(), flat.begin(), flat.end());
    return kernels;
}

const char* device_of(const device::Stream& stream) {
    if (stream.is_on_gpu()) return "cuda";
    return std::holds_alternative<device::CpuStream>(stream.backend) ? "cpu" : "reference";
}

}  // namespace

void ProfileSubject::note_measurement() const {
    if (progress != nullptr) progress->advance();
}

int ProfileSubject::threads() const {
    const auto* const cpu = std::get_if<device::CpuStream>(&stream.backend);
    return cpu == nullptr ? 1 : cpu->threads;
}

std::size_t count_measurements(const model::ModelConfig& model, std::size_t repeats) {
    const std::size_t layers = distinct_layers(build_layers(model)).size();
    return layers * (repeats + 1) + layers * count_kernel_walks(model) + layers;
}

plan::Profile measure_profile(ProfileSubject subject, std::size_t repeats) {
    const std::vector<model::Layer> layers = build_layers(subject.model);
    const std::vector<std::size_t> first = first_equals(layers);
    const TimedLayers timed = timed_layers(first, subject, repeats);
    plan::Profile profile{
        .machine = subject.stream.is_on_gpu() ? device::gpu_in_use().name : device::processor_name(),
        .device = device_of(subject.stream),
        .threads = subject.threads(),
        .repeats = repeats,
        .model = subject.model.name,
        .dtype = name_of(subject.dtype),
        .samples = subject.batch.segments.size(),
        .tokens = subject.batch.rows()};
    for (std::size_t l = 0; l < layers.size(); ++l) {
        if (first[l] < l) {
            profile.layers.push_back(profile.layers[first[l]]);
            continue;
        }
        plan::LayerProfile& layer =
            profile.layers.emplace_back(plan::LayerProfile{.name = kind_of(layers[l]), .measured = l});
        timed.at(l)->set_medians(layer);
        set_bytes(layers, spec_of(subject, l), layer);
    }
    const std::vector<std::size_t> distinct = distinct_layers(layers);
    profile.kernels = measure_kernels(subject, {.layers = distinct, .sizes = sizes_of_profile()}, repeats);
    profile.launch = measure_launch(subject, distinct, repeats);
    return profile;
}

}  // namespace trireme::tools
