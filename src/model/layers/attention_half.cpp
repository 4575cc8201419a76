#include "trireme/model/attention_half.hpp"

#include <cmath>

#include "trireme/kernels/rotary.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {
namespace {

Channels shifted(const Channels& channels, std::size_t by, std::size_t width) {
    Channels moved{.width = width, .own = channels.own};
    for (layout::Range& range : moved.own) range.begin += by;
    return moved;
}

// Returns the output channels of one matrix that writes queries, keys and values.
Channels fused(const Channels& queries, const Channels& keys) {
    const std::size_t width = queries.width + 2 * keys.width;
    Channels all = shifted(queries, 0, width);
    for (const std::size_t begin : {queries.width, queries.width + keys.width}) {
        const Channels moved = shifted(keys, begin, width);
        all.own.insert(all.own.end(), moved.own.begin(), moved.own.end());
    }
    return all;
}

BranchParts attention_parts(const ModelConfig& config, const TensorPart& part) {
    const BlockNames& names = traits_of(config.family).block;
    const Channels queries = part.queries(config);
    const Channels keys = part.keys(config);
    BranchParts parts{.norm = std::string(names.attention_norm),
                      .first = {},
                      .last = std::string(names.attention_out),
                      .result = queries};
    if (names.attention_in.size() == 1) {
        parts.first = {{std::string(names.attention_in[0]), fused(queries, keys)}};
    } else {
        for (const std::string_view name : names.attention_in)
            parts.first.push_back({std::string(name), parts.first.empty() ? queries : keys});
    }
    return parts;
}

}  // namespace

AttentionHalf::AttentionHalf(const ModelConfig& config, const TensorPart& part, std::size_t block)
    : branch_(config, block, Site::attention_residual, attention_parts(config, part), part.is_first()),
      head_size_(config.head_size()),
      groups_(part.groups(config).count),
      heads_(groups_ * (config.heads / config.key_groups())),
      first_head_(part.groups(config).begin * (config.heads / config.key_groups())),
      query_width_(heads_ * head_size_),
      key_width_(groups_ * head_size_),
      is_causal_(config.is_causal()),
      dropout_(config.attention_dropout) {
    if (traits_of(config.family).has_rotary_positions) frequencies_ = rotary_frequencies(config);
}

kernels::AttentionShape AttentionHalf::shape(const Pass& pass) const {
    return {.segments = pass.batch.segments,
            .heads = heads_,
            .groups = groups_,
            .scale = 1 / std::sqrt(static_cast<double>(head_size_)),
            .is_causal = is_causal_,
            .dropout = {.rate = pass.is_training ? dropout_ : 0,
                        .key = site_key(pass, branch_.block(), Site::attention),
                        .first_head = first_head_}};
}

void AttentionHalf::rotate(const Pass& pass, device::Tensor inner, bool is_backward) const {
    if (frequencies_.empty()) return;
    for (const device::Tensor& values : {query(inner), key(inner)}) {
        launch(pass.stream, kernels::Rotary{.values = values,
                                            .positions = pass.batch.positions,
                                            .frequencies = frequencies_,
                                            .is_backward = is_backward});
    }
}

device::Tensor AttentionHalf::forward(const Pass& pass, Weights weights, device::ConstTensor input,
                                      State& state, device::Arena& kept, const NextNorm* next_norm) const {
    const device::ArenaScope scope(pass.scratch);
    branch_.open(pass, weights, input, state, kept);
    rotate(pass, state.inner, false);
    state.log_sum = kept.tensor(wide_of(pass.dtype), pass.batch.rows(), heads_);
    state.result = kept.tensor(pass.dtype, pass.batch.rows(), query_width_);
    launch(pass.stream, kernels::Attention{.query = query(state.inner),
                                           .key = key(state.inner),
                                           .value = value(state.inner),
                                           .output = state.result,
                                           .log_sum = state.log_sum,
                                           .shape = shape(pass)});
    return branch_.close(pass, weights, input, state, kept, next_norm);
}

void AttentionHalf::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                                   device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                                   device::Arena& kept) const {
    const device::Tensor grad_context = kept.tensor(pass.dtype, pass.batch.rows(), query_width_);
    branch_.backward_close(pass, weights, grad_output, grad_context, state, kept);
    state.grad_inner = kept.tensor(pass.dtype, pass.batch.rows(), branch_.inner_width());
    launch(pass.stream, kernels::AttentionBackward{.query = query(state.inner),
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

void AttentionHalf::backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                                    device::ConstTensor grad_output, State& state, Gradients gradients,
                                    device::Arena& scratch) const {
    const device::ArenaScope scope(scratch);
    branch_.backward_weight(pass, weights, input, grad_output, state, gradients, scratch);
}

}  // namespace trireme::model
