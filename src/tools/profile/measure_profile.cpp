#include <map>
#include <memory>

#include "tools/profile/isolated_layer.hpp"
#include "tools/profile/measurements.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/tools/profile.hpp"

namespace trireme::tools {
namespace {

// A layer, and the seconds of its passes and updates in each measured round.
class TimedLayer {
public:
    TimedLayer(const IsolatedLayerSpec& spec, device::Stream& stream) : stream_(stream), layer_(spec, stream) {}

    void run_round() {
        forward_.push_back(measure_seconds([&] { layer_.forward(); }));
        backward_.push_back(measure_seconds([&] { layer_.backward(); }));
        layer_.forward();
        backward_input_.push_back(measure_seconds([&] { layer_.backward_input(); }));
        backward_weight_.push_back(measure_seconds([&] { layer_.backward_weight(); }));
        update_.push_back(measure_seconds([&] { layer_.update(); }));
    }

    // Deletes the times of all rounds.
    void forget_rounds() {
        for (auto* times : {&forward_, &backward_, &backward_input_, &backward_weight_, &update_})
            times->clear();
    }

    // Sets the seconds of `profile` to the medians over the measured rounds.
    void set_medians(plan::LayerProfile& profile) {
        profile.forward = compute_median(forward_);
        profile.backward = compute_median(backward_);
        profile.backward_input = compute_median(backward_input_);
        profile.backward_weight = compute_median(backward_weight_);
        profile.update = compute_median(update_);
    }

private:
    // Returns the seconds of `launch_kernels`, including the kernels that it launches.
    template <class Launch>
    double measure_seconds(Launch&& launch_kernels) {
        const double begin = device::now_seconds();
        launch_kernels();
        stream_.synchronize();
        return device::now_seconds() - begin;
    }

    device::Stream& stream_;
    IsolatedLayer layer_;
    std::vector<double> forward_, backward_, backward_input_, backward_weight_, update_;
};

// Returns the two layers of the transformer block that contains layer `l`, or only layer `l` if it is in no
// block.
layout::Range find_block(const std::vector<model::Layer>& layers, std::size_t l) {
    if (std::holds_alternative<model::AttentionHalf>(layers[l])) return {l, 2};
    if (std::holds_alternative<model::MlpHalf>(layers[l])) return {l - 1, 2};
    return {l, 1};
}

IsolatedLayerSpec make_spec(const ProfileSubject& subject, std::size_t layer) {
    return {.model = subject.model,
            .layer = layer,
            .batch = subject.batch,
            .dtype = subject.dtype,
            .optimizer = subject.optimizer};
}

using TimedLayers = std::map<std::size_t, std::unique_ptr<TimedLayer>>;  // by index of the layer

// Times each distinct layer in `repeats` rounds. `first_equals` is the result of find_first_equals().
TimedLayers time_layers(const std::vector<std::size_t>& first_equals, ProfileSubject& subject,
                        std::size_t repeats) {
    TimedLayers timed_layers;
    for (const std::size_t l : first_equals) {
        if (!timed_layers.contains(l))
            timed_layers.emplace(l, std::make_unique<TimedLayer>(make_spec(subject, l), subject.stream));
    }
    const auto run_round = [&] {
        for (const auto& [l, layer] : timed_layers) {
            layer->run_round();
            subject.count_measurement();
        }
    };
    run_round();  // warm-up: touches pages and compiles kernels
    for (const auto& [l, layer] : timed_layers) layer->forget_rounds();
    for (std::size_t r = 0; r < repeats; ++r) run_round();
    return timed_layers;
}

// Sets the numbers of bytes in `profile`. `profile` describes the layer that `spec` selects.
void set_byte_counts(const std::vector<model::Layer>& layers, const IsolatedLayerSpec& spec,
                     plan::LayerProfile& profile) {
    const std::size_t bytes_per_value = byte_size(spec.dtype);
    const stage::StageMemory block_memory =
        predict_memory(spec, find_block(layers, spec.layer), stage::BackwardHalves::together);
    profile.activation = predict_memory(spec, {spec.layer, 1}, stage::BackwardHalves::together).activations;
    profile.workspace = block_memory.scratch + block_memory.block_activations + block_memory.exchange;
    if (spec.layer + 1 < layers.size()) profile.rows = spec.batch.rows() * spec.model.width * bytes_per_value;
    for (const model::ParameterSpec& each : list_parameters(layers[spec.layer]))
        profile.parameters += each.size() * bytes_per_value;
}

std::vector<plan::KernelProfile> measure_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                 std::size_t repeats) {
    std::vector<plan::KernelProfile> kernels = measure_layer_kernels(subject, grid, repeats);
    const std::vector<plan::KernelProfile> elementwise = measure_elementwise_kernels(subject, repeats);
    kernels.insert(kernels.end(), elementwise.begin(), elementwise.end());
    return kernels;
}

const char* find_device_name(const device::Stream& stream) {
    if (stream.is_on_gpu()) return "cuda";
    return std::holds_alternative<device::CpuStream>(stream.backend) ? "cpu" : "reference";
}

}  // namespace

void ProfileSubject::count_measurement() const {
    if (progress != nullptr) progress->advance();
}

int ProfileSubject::threads() const {
    const auto* const cpu = std::get_if<device::CpuStream>(&stream.backend);
    return cpu == nullptr ? 1 : cpu->threads;
}

std::size_t count_measurements(const model::ModelConfig& model, std::size_t repeats) {
    const std::size_t layer_count = find_distinct_layers(build_layers(model)).size();
    // The first term counts the rounds, with the warm-up round. The second term counts kernel measurements. The
    // third term counts measurements of the launch overhead.
    return layer_count * (repeats + 1) + layer_count * count_kernel_measurements(model) + layer_count;
}

plan::Profile measure_profile(ProfileSubject subject, std::size_t repeats) {
    const std::vector<model::Layer> layers = build_layers(subject.model);
    const std::vector<std::size_t> first_equals = find_first_equals(layers);
    const TimedLayers timed_layers = time_layers(first_equals, subject, repeats);
    plan::Profile profile{
        .machine = subject.stream.is_on_gpu() ? device::selected_gpu().name : device::read_processor_name(),
        .device = find_device_name(subject.stream),
        .threads = subject.threads(),
        .repeats = repeats,
        .model = subject.model.name,
        .dtype = to_string(subject.dtype),
        .microbatch = setup::count_shape(stage::find_shape(subject.batch))};
    for (std::size_t l = 0; l < layers.size(); ++l) {
        if (first_equals[l] < l) {
            profile.layers.push_back(profile.layers[first_equals[l]]);
            continue;
        }
        plan::LayerProfile& layer =
            profile.layers.emplace_back(plan::LayerProfile{.name = find_kind(layers[l]), .measured = l});
        timed_layers.at(l)->set_medians(layer);
        set_byte_counts(layers, make_spec(subject, l), layer);
    }
    const std::vector<std::size_t> distinct = find_distinct_layers(layers);
    profile.kernels =
        measure_kernels(subject, {.layers = distinct, .sizes = list_profile_batch_sizes()}, repeats);
    profile.launch = measure_launch_overhead(subject, distinct, repeats);
    return profile;
}

}  // namespace trireme::tools
