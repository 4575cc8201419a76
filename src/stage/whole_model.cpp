#include "trireme/stage/whole_model.hpp"

namespace trireme::stage {
namespace {

StageSpec all_layers(const model::ModelConfig& config, plan::Recompute recompute) {
    return {.layers = {0, build_layers(config).size()}, .part = {}, .recompute = recompute};
}

}  // namespace

WholeModel::WholeModel(const model::ModelConfig& config, device::DType dtype, device::MemorySpace place,
                       const StageMemory& memory, plan::Recompute recompute)
    : dtype_(dtype),
      stage_(config, all_layers(config, recompute)),
      parameters_(stage_.parameters(), dtype, place),
      workspace_(memory, place),
      flight_(memory.activations, place) {
    stage_.bind(parameters_);
}

model::LossState WholeModel::evaluate(device::Stream& stream, const model::TokenBatch& batch) {
    if (batch.rows() == 0) return {};
    flight_.clear();
    stage_.forward({.stream = stream, .batch = batch, .scratch = workspace_.scratch, .dtype = dtype_}, {},
                   flight_, workspace_);
    return stage_.outcome(flight_);
}

double WholeModel::forward_backward(device::Stream& stream, const model::TokenBatch& batch,
                                    const PassOptions& options, BackwardHalves halves) {
    if (batch.rows() == 0) return 0;
    const model::Pass pass{.stream = stream,
                           .batch = batch,
                           .scratch = workspace_.scratch,
                           .dtype = dtype_,
                           .is_training = true,
                           .dropout_key = options.dropout_key,
                           .loss_scale = options.loss_scale,
                           .label_smoothing = options.label_smoothing};
    flight_.clear();
    stage_.forward(pass, {}, flight_, workspace_);
    if (halves == BackwardHalves::together) {
        stage_.backward(pass, {}, {}, flight_, workspace_);
    } else {
        stage_.backward_input(pass, {}, {}, flight_);
        stage_.backward_weight(pass, flight_);
    }
    return stage_.outcome(flight_).loss;
}

StageMemory WholeModel::peak() const {
    return {.activations = flight_.kept.peak(),
            .scratch = workspace_.scratch.peak(),
            .again = workspace_.again.peak(),
            .exchange = workspace_.exchange.peak()};
}

StageMemory predict(const model::ModelConfig& config, device::DType dtype, const BatchShape& shape,
                    BackwardHalves halves, plan::Recompute recompute) {
    return predict(config, all_layers(config, recompute), shape, {.dtype = dtype, .halves = halves});
}

}  // namespace trireme::stage
