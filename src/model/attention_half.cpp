#include "trireme/model/attention_half.hpp"

#include <cmath>

namespace trireme {

AttentionHalf::AttentionHalf(const ModelConfig& config, std::size_t block)
    : branch_(config, block, Site::attention_residual, 3 * config.width, config.width),
      width_(config.width),
      heads_(config.heads),
      dropout_(config.dropout) {}

std::vector<ParameterSpec> AttentionHalf::parameters() const {
    return branch_.parameters({.norm = "ln_1", .first = "attn.c_attn", .last = "attn.c_proj"});
}

AttentionShape AttentionHalf::shape(const Pass& pass) const {
    return {.segments = pass.batch.segments,
            .heads = heads_,
            .groups = heads_,
            .scale = 1 / std::sqrt(static_cast<double>(width_ / heads_)),
            .is_causal = true,
            .dropout = {.rate = pass.is_training ? dropout_ : 0,
                        .key = site_key(pass, branch_.block(), Site::attention)}};
}

Tensor AttentionHalf::forward(const Pass& pass, Weights weights, ConstTensor input, State& state,
                              Arena& kept) const {
    branch_.open(pass, weights, input, state, kept);
    state.log_sum = kept.tensor(pass.dtype, input.rows, heads_);
    state.result = kept.tensor(pass.dtype, input.rows, width_);
    launch(pass.stream, Attention{.query = state.inner.column_range(0, width_),
                                  .key = state.inner.column_range(width_, width_),
                                  .value = state.inner.column_range(2 * width_, width_),
                                  .output = state.result,
                                  .log_sum = state.log_sum,
                                  .shape = shape(pass)});
    return branch_.close(pass, weights, input, state, kept);
}

void AttentionHalf::backward_input(const Pass& pass, Weights weights, ConstTensor input,
                                   ConstTensor grad_output, Tensor grad_input, State& state,
                                   Arena& kept) const {
    const Tensor grad_context = kept.tensor(pass.dtype, input.rows, width_);
    branch_.backward_close(pass, weights, grad_output, grad_context, state, kept);
    state.grad_inner = kept.tensor(pass.dtype, input.rows, 3 * width_);
    launch(pass.stream, AttentionBackward{.query = state.inner.column_range(0, width_),
                                          .key = state.inner.column_range(width_, width_),
                                          .value = state.inner.column_range(2 * width_, width_),
                                          .output = state.result,
                                          .log_sum = state.log_sum,
                                          .grad_output = grad_context,
                                          .grad_query = state.grad_inner.column_range(0, width_),
                                          .grad_key = state.grad_inner.column_range(width_, width_),
                                          .grad_value = state.grad_inner.column_range(2 * width_, width_),
                                          .shape = shape(pass)});
    branch_.backward_open(pass, weights, input, grad_output, grad_input, state, kept);
}

void AttentionHalf::backward_weight(const Pass& pass, Weights /*weights*/, ConstTensor input,
                                    ConstTensor /*grad_output*/, State& state, Gradients gradients,
                                    Arena& /*scratch*/) const {
    branch_.backward_weight(pass, input, state, gradients);
}

}  // namespace trireme
