#include "trireme/model/attention_half.hpp"

#include <cmath>

#include "model/family.hpp"
#include "trireme/kernels/rotary.hpp"

namespace trireme {
namespace {

BranchParts attention_parts(const ModelConfig& config) {
    const BlockNames names = traits_of(config.family).block;
    const std::size_t key_width = config.key_groups() * config.head_size();
    BranchParts parts{
        .norm = names.attention_norm, .first = {}, .last = names.attention_out, .result_width = config.width};
    if (names.attention_in.size() == 1) {
        parts.first = {{names.attention_in[0], config.width + 2 * key_width}};
    } else {
        parts.first = {{names.attention_in[0], config.width},
                       {names.attention_in[1], key_width},
                       {names.attention_in[2], key_width}};
    }
    return parts;
}

}  // namespace

AttentionHalf::AttentionHalf(const ModelConfig& config, std::size_t block)
    : branch_(config, block, Site::attention_residual, attention_parts(config)),
      width_(config.width),
      heads_(config.heads),
      groups_(config.key_groups()),
      key_width_(config.key_groups() * config.head_size()),
      is_causal_(config.is_causal()),
      dropout_(config.attention_dropout) {
    if (config.family == Family::llama) frequencies_ = rotary_frequencies(config);
}

AttentionShape AttentionHalf::shape(const Pass& pass) const {
    return {.segments = pass.batch.segments,
            .heads = heads_,
            .groups = groups_,
            .scale = 1 / std::sqrt(static_cast<double>(width_ / heads_)),
            .is_causal = is_causal_,
            .dropout = {.rate = pass.is_training ? dropout_ : 0,
                        .key = site_key(pass, branch_.block(), Site::attention)}};
}

void AttentionHalf::rotate(const Pass& pass, Tensor inner, bool is_backward) const {
    if (frequencies_.empty()) return;
    for (const Tensor& values : {query(inner), key(inner)}) {
        launch(pass.stream, Rotary{.values = values,
                                   .positions = pass.batch.positions,
                                   .frequencies = frequencies_,
                                   .is_backward = is_backward});
    }
}

Tensor AttentionHalf::forward(const Pass& pass, Weights weights, ConstTensor input, State& state,
                              Arena& kept) const {
    branch_.open(pass, weights, input, state, kept);
    rotate(pass, state.inner, false);
    state.log_sum = kept.tensor(pass.dtype, input.rows, heads_);
    state.result = kept.tensor(pass.dtype, input.rows, width_);
    launch(pass.stream, Attention{.query = query(state.inner),
                                  .key = key(state.inner),
                                  .value = value(state.inner),
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
    state.grad_inner = kept.tensor(pass.dtype, input.rows, branch_.inner_width());
    launch(pass.stream, AttentionBackward{.query = query(state.inner),
                                          .key = key(state.inner),
                                          .value = value(state.inner),
                                          .output = state.result,
                                          .log_sum = state.log_sum,
                                          .grad_output = grad_context,
                                          .grad_query = query(state.grad_inner),
                                          .grad_key = key(state.grad_inner),
                                          .grad_value = value(state.grad_inner),
                                          .shape = shape(pass)});
    rotate(pass, state.grad_inner, true);
    branch_.backward_open(pass, weights, input, grad_input, state, kept);
}

void AttentionHalf::backward_weight(const Pass& pass, Weights /*weights*/, ConstTensor input,
                                    ConstTensor grad_output, State& state, Gradients gradients,
                                    Arena& /*scratch*/) const {
    branch_.backward_weight(pass, input, grad_output, state, gradients);
}

}  // namespace trireme
