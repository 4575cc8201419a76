#include "trireme/model/final_norm.hpp"

#include "trireme/kernels/norm.hpp"

namespace trireme {
namespace {

enum : std::size_t { norm_gain, norm_bias };

}  // namespace

FinalNorm::FinalNorm(const ModelConfig& config) : width_(config.width), epsilon_(config.norm_epsilon) {}

std::vector<ParameterSpec> FinalNorm::parameters() const {
    return {{.name = "transformer.ln_f.weight", .columns = width_, .init = Init::ones},
            {.name = "transformer.ln_f.bias", .columns = width_, .init = Init::zeros}};
}

Tensor FinalNorm::forward(const Pass& pass, Weights weights, ConstTensor input, State& state,
                          Arena& kept) const {
    state.mean = kept.tensor(pass.dtype, 1, input.rows);
    state.inv_std = kept.tensor(pass.dtype, 1, input.rows);
    const Tensor output = kept.tensor(pass.dtype, input.rows, width_);
    launch(pass.stream, LayerNorm{.input = input,
                                  .gain = weights[norm_gain],
                                  .bias = weights[norm_bias],
                                  .output = output,
                                  .mean = state.mean,
                                  .inv_std = state.inv_std,
                                  .epsilon = epsilon_});
    return output;
}

void FinalNorm::backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                               Tensor grad_input, State& state, Arena& /*kept*/) const {
    launch(pass.stream, LayerNormBackwardInput{.input = input,
                                               .gain = weights[norm_gain],
                                               .mean = state.mean,
                                               .inv_std = state.inv_std,
                                               .grad_output = grad_output,
                                               .residual = {},
                                               .grad_input = grad_input});
}

void FinalNorm::backward_weight(const Pass& pass, Weights /*weights*/, ConstTensor input,
                                ConstTensor grad_output, State& state, Gradients gradients,
                                Arena& /*scratch*/) const {
    launch(pass.stream, LayerNormBackwardWeight{.input = input,
                                                .mean = state.mean,
                                                .inv_std = state.inv_std,
                                                .grad_output = grad_output,
                                                .grad_gain = gradients[norm_gain],
                                                .grad_bias = gradients[norm_bias]});
}

}  // namespace trireme
