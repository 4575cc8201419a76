#include "trireme/model/mlp_half.hpp"

#include "trireme/model/family.hpp"

namespace trireme::model {
namespace {

BranchSpec make_mlp_branch(const ModelConfig& config, const TensorPart& part) {
    const BlockNames& names = find_traits(config.family).block;
    const Channels columns = part.find_mlp_channels(config);
    BranchSpec branch{.norm = std::string(names.mlp_norm),
                      .first_matrices = {},
                      .last_matrix = std::string(names.mlp_out),
                      .result_channels = columns};
    for (const std::string_view name : names.mlp_in)
        branch.first_matrices.push_back({std::string(name), columns});
    return branch;
}

}  // namespace

MlpHalf::MlpHalf(const ModelConfig& config, const TensorPart& part, std::size_t block)
    : branch_(config, block, DropoutSite::mlp_residual, make_mlp_branch(config, part), part.is_first()),
      mlp_width_(part.find_mlp_channels(config).count()),
      is_gated_(find_traits(config.family).block.mlp_in.size() == 2),
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

void MlpHalf::activate_backward(const Pass& pass, device::ConstTensor grad_result, State& state) const {
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
                                device::Arena& stash, const NextNorm* next_norm) const {
    const device::ArenaScope scope(pass.scratch);
    state.result =
        (pass.recomputes_selectively ? pass.scratch : stash).tensor(pass.dtype, pass.batch.rows(), mlp_width_);
    // A fused activation reads the unrounded output of the matmul; a recomputed activation reads the rounded
    // state.inner. The forward pass and the recomputation must compute the same state.result, so an activation
    // that will be recomputed is not fused.
    if (!is_gated_ && !pass.recomputes_selectively && branch_.can_fuse_forward(pass, activation_)) {
        branch_.compute_inner(pass, weights, input, state, stash,
                              {.kind = activation_, .tensor = state.result});
    } else {
        branch_.compute_inner(pass, weights, input, state, stash);
        activate(pass, state.inner, state.result);
    }
    return branch_.compute_output(pass, weights, input, state, stash, next_norm);
}

void MlpHalf::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                             device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                             device::Arena& stash) const {
    state.grad_inner = stash.tensor(pass.dtype, pass.batch.rows(), branch_.inner_width());
    // Without a gate, grad_result and state.grad_inner have the same shape and share memory.
    const device::Tensor grad_result =
        is_gated_ ? stash.tensor(pass.dtype, pass.batch.rows(), mlp_width_) : state.grad_inner;
    if (!is_gated_ && branch_.can_fuse_backward(pass, activation_)) {
        branch_.compute_grad_result(pass, weights, grad_output, grad_result, state, stash,
                                    {.kind = activation_, .tensor = state.inner});
    } else {
        branch_.compute_grad_result(pass, weights, grad_output, grad_result, state, stash);
        activate_backward(pass, grad_result, state);
    }
    branch_.compute_grad_input(pass, weights, input, grad_input, state, stash);
}

void MlpHalf::backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                              device::ConstTensor grad_output, State& state, Gradients gradients,
                              device::Arena& scratch) const {
    const device::ArenaScope scope(scratch);
    if (pass.recomputes_selectively) {
        state.result = scratch.tensor(pass.dtype, pass.batch.rows(), mlp_width_);
        activate(pass, state.inner, state.result);
    }
    branch_.backward_weight(pass, weights, input, grad_output, state, gradients, scratch);
}

}  // namespace trireme::model
