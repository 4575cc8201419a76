#include "trireme/model/mlp_half.hpp"

#include "trireme/model/family.hpp"

namespace trireme::model {
namespace {

BranchParts mlp_parts(const ModelConfig& config, const TensorPart& part) {
    const BlockNames& names = traits_of(config.family).block;
    const Channels columns = part.mlp(config);
    BranchParts parts{.norm = std::string(names.mlp_norm),
                      .first = {},
                      .last = std::string(names.mlp_out),
                      .result = columns};
    for (const std::string_view name : names.mlp_in) parts.first.push_back({std::string(name), columns});
    return parts;
}

}  // namespace

MlpHalf::MlpHalf(const ModelConfig& config, const TensorPart& part, std::size_t block)
    : branch_(config, block, Site::mlp_residual, mlp_parts(config, part), part.is_first()),
      mlp_width_(part.mlp(config).count()),
      is_gated_(traits_of(config.family).block.mlp_in.size() == 2),
      activation_(config.activation) {}

void MlpHalf::activate(const Pass& pass, device::ConstTensor inner, device::Tensor result) const {
    if (is_gated_) {
        launch(pass.stream, kernels::SiluGate{.gate = inner.column_range(0, mlp_width_),
                                              .up = inner.column_range(mlp_width_, mlp_width_),
                                              .output = result});
    } else {
        launch(pass.stream, kernels::Activation{.input = inner, .output = result, .kind = activation_});
    }
}

void MlpHalf::deactivate(const Pass& pass, device::ConstTensor grad_result, State& state) const {
    if (is_gated_) {
        launch(pass.stream,
               kernels::SiluGateBackward{.gate = state.inner.column_range(0, mlp_width_),
                                         .up = state.inner.column_range(mlp_width_, mlp_width_),
                                         .grad_output = grad_result,
                                         .grad_gate = state.grad_inner.column_range(0, mlp_width_),
                                         .grad_up = state.grad_inner.column_range(mlp_width_, mlp_width_)});
    } else {
        launch(pass.stream, kernels::ActivationBackward{.input = state.inner,
                                                        .grad_output = grad_result,
                                                        .grad_input = state.grad_inner,
                                                        .kind = activation_});
    }
}

device::Tensor MlpHalf::forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                                device::Arena& kept, const NextNorm* next_norm) const {
    const device::ArenaScope scope(pass.scratch);
    state.result = (pass.keeps_little ? pass.scratch : kept).tensor(pass.dtype, pass.batch.rows(), mlp_width_);
    // A recomputed activation reads the rounded state.inner, so the first computation must not be fused either.
    if (!is_gated_ && !pass.keeps_little && branch_.joins_when_opened(pass, activation_)) {
        branch_.open(pass, weights, input, state, kept, {.kind = activation_, .tensor = state.result});
    } else {
        branch_.open(pass, weights, input, state, kept);
        activate(pass, state.inner, state.result);
    }
    return branch_.close(pass, weights, input, state, kept, next_norm);
}

void MlpHalf::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                             device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                             device::Arena& kept) const {
    state.grad_inner = kept.tensor(pass.dtype, pass.batch.rows(), branch_.inner_width());
    // Without a gate the gradients of result and inner share memory.
    const device::Tensor grad_result =
        is_gated_ ? kept.tensor(pass.dtype, pass.batch.rows(), mlp_width_) : state.grad_inner;
    if (!is_gated_ && branch_.joins_when_closed_backward(pass, activation_)) {
        branch_.backward_close(pass, weights, grad_output, grad_result, state, kept,
                               {.kind = activation_, .tensor = state.inner});
    } else {
        branch_.backward_close(pass, weights, grad_output, grad_result, state, kept);
        deactivate(pass, grad_result, state);
    }
    branch_.backward_open(pass, weights, input, grad_input, state, kept);
}

void MlpHalf::backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                              device::ConstTensor grad_output, State& state, Gradients gradients,
                              device::Arena& scratch) const {
    const device::ArenaScope scope(scratch);
    if (pass.keeps_little) {
        state.result = scratch.tensor(pass.dtype, pass.batch.rows(), mlp_width_);
        activate(pass, state.inner, state.result);
    }
    branch_.backward_weight(pass, weights, input, grad_output, state, gradients, scratch);
}

}  // namespace trireme::model
