#include "trireme/model/attention_half.hpp"

#include <cmath>

#include "block_parameters.hpp"
#include "sites.hpp"
#include "trireme/kernels/norm.hpp"

namespace trireme {
namespace {

enum : std::size_t { norm_gain, norm_bias, qkv_weight, qkv_bias, projection_weight, projection_bias };

}  // namespace

AttentionHalf::AttentionHalf(const ModelConfig& config, std::size_t block)
    : block_(block),
      layers_(config.layers),
      width_(config.width),
      heads_(config.heads),
      epsilon_(config.norm_epsilon),
      deviation_(config.init_deviation),
      dropout_(config.dropout) {}

std::vector<ParameterSpec> AttentionHalf::parameters() const {
    const BlockParameters named{block_, deviation_};
    return {named.gain("ln_1.weight", width_),
            named.bias("ln_1.bias", width_),
            named.matrix("attn.c_attn.weight", width_, 3 * width_),
            named.bias("attn.c_attn.bias", 3 * width_),
            named.residual_matrix("attn.c_proj.weight", width_, width_, layers_),
            named.bias("attn.c_proj.bias", width_)};
}

AttentionShape AttentionHalf::shape(const Pass& pass) const {
    return {
        .segments = pass.batch.segments,
        .heads = heads_,
        .groups = heads_,
        .scale = 1 / std::sqrt(static_cast<double>(width_ / heads_)),
        .is_causal = true,
        .dropout = {.rate = pass.is_training ? dropout_ : 0, .key = site_key(pass, block_, Site::attention)}};
}

Tensor AttentionHalf::forward(const Pass& pass, Weights weights, ConstTensor input, State& state,
                              Arena& kept) const {
    const std::size_t rows = input.rows;
    state.mean = kept.tensor(pass.dtype, 1, rows);
    state.inv_std = kept.tensor(pass.dtype, 1, rows);
    state.normed = kept.tensor(pass.dtype, rows, width_);
    state.qkv = kept.tensor(pass.dtype, rows, 3 * width_);
    state.log_sum = kept.tensor(pass.dtype, rows, heads_);
    state.context = kept.tensor(pass.dtype, rows, width_);
    const Tensor output = kept.tensor(pass.dtype, rows, width_);

    launch(pass.stream, LayerNorm{.input = input,
                                  .gain = weights[norm_gain],
                                  .bias = weights[norm_bias],
                                  .output = state.normed,
                                  .mean = state.mean,
                                  .inv_std = state.inv_std,
                                  .epsilon = epsilon_});
    launch(pass.stream, Linear{.input = state.normed,
                               .weight = weights[qkv_weight],
                               .bias = weights[qkv_bias],
                               .output = state.qkv});
    launch(pass.stream, Attention{.query = state.qkv.column_range(0, width_),
                                  .key = state.qkv.column_range(width_, width_),
                                  .value = state.qkv.column_range(2 * width_, width_),
                                  .output = state.context,
                                  .log_sum = state.log_sum,
                                  .shape = shape(pass)});
    launch(pass.stream, Linear{.input = state.context,
                               .weight = weights[projection_weight],
                               .bias = weights[projection_bias],
                               .output = output});
    launch(pass.stream, ResidualAdd{.residual = input,
                                    .input = output,
                                    .output = output,
                                    .dropout = dropout_at(pass, dropout_, block_, Site::attention_residual)});
    return output;
}

void AttentionHalf::backward_input(const Pass& pass, Weights weights, ConstTensor input,
                                   ConstTensor grad_output, Tensor grad_input, State& state,
                                   Arena& kept) const {
    const std::size_t rows = input.rows;
    state.grad_projection =
        undrop(pass, dropout_at(pass, dropout_, block_, Site::attention_residual), grad_output, kept);
    state.grad_qkv = kept.tensor(pass.dtype, rows, 3 * width_);
    state.grad_normed = kept.tensor(pass.dtype, rows, width_);
    {
        const ArenaScope scope(kept);
        const Tensor grad_context = kept.tensor(pass.dtype, rows, width_);
        launch(pass.stream, LinearBackwardInput{.grad_output = state.grad_projection,
                                                .weight = weights[projection_weight],
                                                .grad_input = grad_context});
        launch(pass.stream, AttentionBackward{.query = state.qkv.column_range(0, width_),
                                              .key = state.qkv.column_range(width_, width_),
                                              .value = state.qkv.column_range(2 * width_, width_),
                                              .output = state.context,
                                              .log_sum = state.log_sum,
                                              .grad_output = grad_context,
                                              .grad_query = state.grad_qkv.column_range(0, width_),
                                              .grad_key = state.grad_qkv.column_range(width_, width_),
                                              .grad_value = state.grad_qkv.column_range(2 * width_, width_),
                                              .shape = shape(pass)});
    }
    launch(pass.stream,
           LinearBackwardInput{
               .grad_output = state.grad_qkv, .weight = weights[qkv_weight], .grad_input = state.grad_normed});
    launch(pass.stream, LayerNormBackwardInput{.input = input,
                                               .gain = weights[norm_gain],
                                               .mean = state.mean,
                                               .inv_std = state.inv_std,
                                               .grad_output = state.grad_normed,
                                               .residual = grad_output,
                                               .grad_input = grad_input});
}

void AttentionHalf::backward_weight(const Pass& pass, Weights /*weights*/, ConstTensor input,
                                    ConstTensor /*grad_output*/, State& state, Gradients gradients,
                                    Arena& /*scratch*/) const {
    launch(pass.stream, LinearBackwardWeight{.input = state.context,
                                             .grad_output = state.grad_projection,
                                             .grad_weight = gradients[projection_weight],
                                             .grad_bias = gradients[projection_bias]});
    launch(pass.stream, LinearBackwardWeight{.input = state.normed,
                                             .grad_output = state.grad_qkv,
                                             .grad_weight = gradients[qkv_weight],
                                             .grad_bias = gradients[qkv_bias]});
    launch(pass.stream, LayerNormBackwardWeight{.input = input,
                                                .mean = state.mean,
                                                .inv_std = state.inv_std,
                                                .grad_output = state.grad_normed,
                                                .grad_gain = gradients[norm_gain],
                                                .grad_bias = gradients[norm_bias]});
}

}  // namespace trireme
