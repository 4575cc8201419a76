#include "tools/profile/isolated_layer.hpp"

#include <map>
#include <string>

#include "trireme/base/numbers.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::tools {
namespace {

// Returns sizes of memory that suffice for a whole backward pass and also for its two halves.
stage::StageMemory predict_max_memory(const IsolatedLayerSpec& spec) {
    const layout::Range single_layer{spec.layer, 1};
    return elementwise_max(predict_memory(spec, single_layer, stage::BackwardHalves::together),
                           predict_memory(spec, single_layer, stage::BackwardHalves::apart));
}

// Returns a text that is equal for two layers of a model only if the layers have the same kind, and parameters
// of the same shapes.
std::string make_signature(const model::Layer& layer) {
    std::string signature = find_kind(layer);
    for (const model::ParameterSpec& spec : list_parameters(layer))
        signature += cat(' ', spec.rows, 'x', spec.columns);
    return signature;
}

}  // namespace

stage::StageMemory predict_memory(const IsolatedLayerSpec& spec, layout::Range layers,
                                  stage::BackwardHalves halves) {
    stage::BatchShape shape = stage::find_shape(spec.batch);
    shape.predicted_rows.reset();
    return predict(spec.model, {.layers = layers, .part = spec.part}, shape,
                   {.dtype = spec.dtype, .halves = halves});
}

IsolatedLayer::IsolatedLayer(const IsolatedLayerSpec& spec, device::Stream& stream)
    : spec_(spec),
      stream_(stream),
      batch_{.batch = spec.batch, .memory = {}},
      stage_(spec.model, {.layers = {spec.layer, 1}, .part = spec.part}),
      parameters_(stage_.parameters(), spec.dtype, stream.memory_space()),
      memory_(predict_max_memory(spec)),
      workspace_(memory_, stream.memory_space()),
      communicator_(
          comm::make_ghost_group("tensor", spec.part.rank, static_cast<int>(spec.part.shares.size()))),
      group_{.communicator = *communicator_, .exchange = workspace_.exchange},
      stash_(memory_.activations, stream.memory_space()),
      rows_("rows", 3 * round_up_to_cache_lines(spec.batch.rows() * spec.model.width * byte_size(spec.dtype)),
            stream.memory_space()),
      shards_(optim::make_whole_shards(parameters_.specs())),
      optimizer_(spec.optimizer, parameters_.specs(), shards_, spec.dtype, stream.memory_space()),
      norm_scratch_("norm", optim::count_norm_scratch_bytes(shards_.size()), stream.memory_space()) {
    if (stream.is_on_gpu()) batch_ = stage::upload(spec.batch, uploader_.emplace(stream.gpu_times->queue()));
    stage_.bind(parameters_);
    initialize_parameters(stream, parameters_.specs(), parameters_.values(), 1);
    const auto make_random_rows = [&](bool is_needed, const char* name) {
        if (!is_needed) return device::Tensor{};
        const device::Tensor rows = rows_.tensor(spec.dtype, spec.batch.rows(), spec.model.width);
        launch(stream, kernels::FillNormal{
                           .output = rows, .key = RandomKey{1}.then(name), .global_columns = rows.columns});
        return rows;
    };
    input_ = make_random_rows(!stage_.is_first(), "input");
    grad_input_ = make_random_rows(!stage_.is_first(), "gradient of the input");
    grad_output_ = make_random_rows(!stage_.is_last(), "gradient of the output");
}

model::Pass IsolatedLayer::make_pass() {
    return {.stream = stream_,
            .batch = batch_.batch,
            .scratch = workspace_.scratch,
            .dtype = spec_.dtype,
            .is_training = true,
            .dropout_key = RandomKey{1}.then("dropout"),
            .loss_scale = 1 / static_cast<double>(spec_.batch.rows()),
            .group = spec_.part.is_whole() ? nullptr : &group_};
}

std::size_t IsolatedLayer::bytes() const {
    return parameters_.gradients().all().bytes() * 2 + memory_.activations;
}

void IsolatedLayer::forward() {
    stash_.clear();
    stage_.forward(make_pass(), input_, stash_, workspace_);
}

void IsolatedLayer::backward() { stage_.backward(make_pass(), grad_output_, grad_input_, stash_, workspace_); }

void IsolatedLayer::backward_input() { stage_.backward_input(make_pass(), grad_output_, grad_input_, stash_); }

void IsolatedLayer::backward_weight() { stage_.backward_weight(make_pass(), stash_); }

void IsolatedLayer::update() {
    compute_sum_of_squares(stream_, parameters_.gradients(), shards_, norm_scratch_);
    optimizer_.update(stream_, parameters_.values(), parameters_.gradients(), spec_.optimizer.rate, 1);
    launch(stream_, kernels::Fill{.output = parameters_.gradients().all(), .value = 0});
}

std::vector<std::size_t> find_first_equals(const std::vector<model::Layer>& layers) {
    std::map<std::string, std::size_t> index_by_signature;
    std::vector<std::size_t> first_equals;
    for (const model::Layer& layer : layers) {
        const auto [entry, is_new] = index_by_signature.emplace(make_signature(layer), first_equals.size());
        first_equals.push_back(entry->second);
    }
    return first_equals;
}

std::vector<std::size_t> find_distinct_layers(const std::vector<model::Layer>& layers) {
    std::vector<std::size_t> distinct;
    const std::vector<std::size_t> first_equals = find_first_equals(layers);
    for (std::size_t l = 0; l < layers.size(); ++l) {
        if (first_equals[l] == l) distinct.push_back(l);
    }
    return distinct;
}

}  // namespace trireme::tools
