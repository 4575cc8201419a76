#include "trireme/model/mlp_half.hpp"

#include "trireme/kernels/activation.hpp"

namespace trireme {

MlpHalf::MlpHalf(const ModelConfig& config, std::size_t block)
    : branch_(config, block, Site::mlp_residual, config.mlp_width, config.mlp_width),
      mlp_width_(config.mlp_width) {}

std::vector<ParameterSpec> MlpHalf::parameters() const {
    return branch_.parameters({.norm = "ln_2", .first = "mlp.c_fc", .last = "mlp.c_proj"});
}

Tensor MlpHalf::forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const {
    branch_.open(pass, weights, input, state, kept);
    state.result = kept.tensor(pass.dtype, input.rows, mlp_width_);
    launch(pass.stream, Activation{.input = state.inner, .output = state.result});
    return branch_.close(pass, weights, input, state, kept);
}

void MlpHalf::backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                             Tensor grad_input, State& state, Arena& kept) const {
    state.grad_inner = kept.tensor(pass.dtype, input.rows, mlp_width_);
    branch_.backward_close(pass, weights, grad_output, state.grad_inner, state, kept);
    launch(pass.stream,
           ActivationBackward{
               .input = state.inner, .grad_output = state.grad_inner, .grad_input = state.grad_inner});
    branch_.backward_open(pass, weights, input, grad_output, grad_input, state, kept);
}

void MlpHalf::backward_weight(const Pass& pass, Weights /*weights*/, ConstTensor input,
                              ConstTensor /*grad_output*/, State& state, Gradients gradients,
                              Arena& /*scratch*/) const {
    branch_.backward_weight(pass, input, state, gradients);
}

}  // namespace trireme
