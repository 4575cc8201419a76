#include "tools/profile/lone_layer.hpp"

#include <map>
#include <string>

#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::tools {
namespace {

stage::StageMemory memory_of_both(const LoneLayerSpec& spec) {
    const layout::Range alone{spec.layer, 1};
    return larger_of(memory_of(spec, alone, stage::BackwardHalves::together),
                     memory_of(spec, alone, stage::BackwardHalves::apart));
}

// Returns a text that is equal for layers of a model that compute the same with other parameters.
std::string signature_of(const model::Layer& layer) {
    std::string signature = kind_of(layer);
    for (const model::ParameterSpec& spec : parameters_of(layer))
        signature += cat(' ', spec.rows, 'x', spec.columns);
    return signature;
}

}  // namespace

stage::StageMemory memory_of(const LoneLayerSpec& spec, layout::Range layers, stage::BackwardHalves halves) {
    const stage::BatchShape shape{.segments = {spec.batch.segments.begin(), spec.batch.segments.end()},
                                  .rows = spec.batch.rows()};
    return predict(spec.model, {.layers = layers, .part = spec.part}, shape,
                   {.dtype = spec.dtype, .halves = halves});
}

LoneLayer::LoneLayer(const LoneLayerSpec& spec, device::Stream& stream)
    : spec_(spec),
      stream_(stream),
      batch_{.batch = spec.batch, .memory = {}},
      stage_(spec.model, {.layers = {spec.layer, 1}, .part = spec.part}),
      parameters_(stage_.parameters(), spec.dtype, stream.place()),
      memory_(memory_of_both(spec)),
      workspace_(memory_, stream.place()),
      ranks_(comm::ghost_group("tensor", spec.part.rank, static_cast<int>(spec.part.shares.size()))),
      group_{.ranks = *ranks_, .exchange = workspace_.exchange},
      flight_(memory_.activations, stream.place()),
      rows_(spec.batch.rows(), spec.model.width, spec.dtype, stream.place()),
      shards_(optim::whole_parameters(parameters_.specs())),
      optimizer_(spec.optimizer, parameters_.specs(), shards_, spec.dtype, stream.place()),
      norm_scratch_("norm", optim::norm_scratch_bytes(shards_.size()), stream.place()) {
    if (stream.is_on_gpu()) batch_ = stage::send(spec.batch, sender_.emplace(stream.gpu_times->queue()));
    stage_.bind(parameters_);
    initialise(stream, parameters_.specs(), parameters_.values(), 1);
    const auto random_rows = [&](bool are_there, const char* name) {
        if (!are_there) return device::Tensor{};
        const device::Tensor rows = rows_.take(spec.batch.rows());
        launch(stream, kernels::FillNormal{
                           .output = rows, .key = RandomKey{1}.then(name), .global_columns = rows.columns});
        return rows;
    };
    input_ = random_rows(!stage_.is_first(), "input");
    grad_input_ = random_rows(!stage_.is_first(), "gradient of the input");
    grad_output_ = random_rows(!stage_.is_last(), "gradient of the output");
}

model::Pass LoneLayer::pass() {
    return {.stream = stream_,
            .batch = batch_.batch,
            .scratch = workspace_.scratch,
            .dtype = spec_.dtype,
            .is_training = true,
            .dropout_key = RandomKey{1}.then("dropout"),
            .loss_scale = 1 / static_cast<double>(spec_.batch.rows()),
            .group = spec_.part.is_whole() ? nullptr : &group_};
}

std::size_t LoneLayer::bytes() const { return parameters_.gradients().all().bytes() * 2 + memory_.activations; }

void LoneLayer::forward() {
    flight_.clear();
    stage_.forward(pass(), input_, flight_, workspace_);
}

void LoneLayer::backward() { stage_.backward(pass(), grad_output_, grad_input_, flight_, workspace_); }

void LoneLayer::backward_input() { stage_.backward_input(pass(), grad_output_, grad_input_, flight_); }

void LoneLayer::backward_weight() { stage_.backward_weight(pass(), flight_); }

void LoneLayer::update() {
    sum_of_squares(stream_, parameters_.gradients(), shards_, norm_scratch_);
    optimizer_.update(stream_, parameters_.values(), parameters_.gradients(), spec_.optimizer.rate, 1);
    launch(stream_, kernels::Fill{.output = parameters_.gradients().all(), .value = 0});
}

std::vector<std::size_t> first_equals(const std::vector<model::Layer>& layers) {
    std::map<std::string, std::size_t> known;
    std::vector<std::size_t> first;
    for (const model::Layer& layer : layers) {
        first.push_back(known.emplace(signature_of(layer), first.size()).first->second);
    }
    return first;
}

std::vector<std::size_t> distinct_layers(const std::vector<model::Layer>& layers) {
    std::vector<std::size_t> distinct;
    const std::vector<std::size_t> first = first_equals(layers);
    for (std::size_t l = 0; l < layers.size(); ++l) {
        if (first[l] == l) distinct.push_back(l);
    }
    return distinct;
}

}  // namespace trireme::tools
