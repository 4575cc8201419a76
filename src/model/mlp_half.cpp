#include "trireme/model/mlp_half.hpp"

#include "block_parameters.hpp"
#include "sites.hpp"
#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/norm.hpp"

namespace trireme {
namespace {

enum : std::size_t { norm_gain, norm_bias, expand_weight, expand_bias, projection_weight, projection_bias };

}  // namespace

MlpHalf::MlpHalf(const ModelConfig& config, std::size_t block)
    : block_(block),
      layers_(config.layers),
      width_(config.width),
      mlp_width_(config.mlp_width),
      epsilon_(config.norm_epsilon),
      deviation_(config.init_deviation),
      dropout_(config.dropout) {}

std::vector<ParameterSpec> MlpHalf::parameters() const {
    const BlockParameters named{block_, deviation_};
    return {named.gain("ln_2.weight", width_),
            named.bias("ln_2.bias", width_),
            named.matrix("mlp.c_fc.weight", width_, mlp_width_),
            named.bias("mlp.c_fc.bias", mlp_width_),
            named.residual_matrix("mlp.c_proj.weight", mlp_width_, width_, layers_),
            named.bias("mlp.c_proj.bias", width_)};
}

Tensor MlpHalf::forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const {
    const std::size_t rows = input.rows;
    state.mean = kept.tensor(pass.dtype, 1, rows);
    state.inv_std = kept.tensor(pass.dtype, 1, rows);
    state.normed = kept.tensor(pass.dtype, rows, width_);
    state.expanded = kept.tensor(pass.dtype, rows, mlp_width_);
    state.activated = kept.tensor(pass.dtype, rows, mlp_width_);
    const Tensor output = kept.tensor(pass.dtype, rows, width_);

    launch(pass.stream, LayerNorm{.input = input,
                                  .gain = weights[norm_gain],
                                  .bias = weights[norm_bias],
                                  .output = state.normed,
                                  .mean = state.mean,
                                  .inv_std = state.inv_std,
                                  .epsilon = epsilon_});
    launch(pass.stream, Linear{.input = state.normed,
                               .weight = weights[expand_weight],
                               .bias = weights[expand_bias],
                               .output = state.expanded});
    launch(pass.stream, Activation{.input = state.expanded, .output = state.activated});
    launch(pass.stream, Linear{.input = state.activated,
                               .weight = weights[projection_weight],
                               .bias = weights[projection_bias],
                               .output = output});
    launch(pass.stream, ResidualAdd{.residual = input,
                                    .input = output,
                                    .output = output,
                                    .dropout = dropout_at(pass, dropout_, block_, Site::mlp_residual)});
    return output;
}

void MlpHalf::backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                             Tensor grad_input, State& state, Arena& kept) const {
    const std::size_t rows = input.rows;
    state.grad_projection =
        undrop(pass, dropout_at(pass, dropout_, block_, Site::mlp_residual), grad_output, kept);
    state.grad_expanded = kept.tensor(pass.dtype, rows, mlp_width_);
    state.grad_normed = kept.tensor(pass.dtype, rows, width_);

    launch(pass.stream, LinearBackwardInput{.grad_output = state.grad_projection,
                                            .weight = weights[projection_weight],
                                            .grad_input = state.grad_expanded});
    launch(pass.stream,
           ActivationBackward{
               .input = state.expanded, .grad_output = state.grad_expanded, .grad_input = state.grad_expanded});
    launch(pass.stream, LinearBackwardInput{.grad_output = state.grad_expanded,
                                            .weight = weights[expand_weight],
                                            .grad_input = state.grad_normed});
    launch(pass.stream, LayerNormBackwardInput{.input = input,
                                               .gain = weights[norm_gain],
                                               .mean = state.mean,
                                               .inv_std = state.inv_std,
                                               .grad_output = state.grad_normed,
                                               .residual = grad_output,
                                               .grad_input = grad_input});
}

void MlpHalf::backward_weight(const Pass& pass, Weights /*weights*/, ConstTensor input,
                              ConstTensor /*grad_output*/, State& state, Gradients gradients,
                              Arena& /*scratch*/) const {
    launch(pass.stream, LinearBackwardWeight{.input = state.activated,
                                             .grad_output = state.grad_projection,
                                             .grad_weight = gradients[projection_weight],
                                             .grad_bias = gradients[projection_bias]});
    launch(pass.stream, LinearBackwardWeight{.input = state.normed,
                                             .grad_output = state.grad_expanded,
                                             .grad_weight = gradients[expand_weight],
                                             .grad_bias = gradients[expand_bias]});
    launch(pass.stream, LayerNormBackwardWeight{.input = input,
                                                .mean = state.mean,
                                                .inv_std = state.inv_std,
                                                .grad_output = state.grad_normed,
                                                .grad_gain = gradients[norm_gain],
                                                .grad_bias = gradients[norm_bias]});
}

}  // namespace trireme
