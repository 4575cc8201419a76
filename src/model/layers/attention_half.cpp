#include "trireme/model/attention_half.hpp"

#include <cmath>

#include "trireme/kernels/rotary.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {
namespace {

// Returns the channels with `offset` added to their indices, as channels of a dimension of width `width`.
Channels shift_channels(const Channels& channels, std::size_t offset, std::size_t width) {
    Channels shifted{.width = width, .own_ranges = channels.own_ranges};
    for (layout::Range& range : shifted.own_ranges) range.begin += offset;
    return shifted;
}

// Returns this rank's output channels of a fused matrix. The outputs of the matrix are first all queries, then
// all keys, then all values. `keys` has the channels of the keys. The values have the same channels.
Channels fuse_channels(const Channels& queries, const Channels& keys) {
    const std::size_t width = queries.width + 2 * keys.width;
    Channels fused = shift_channels(queries, 0, width);
    for (const std::size_t offset : {queries.width, queries.width + keys.width}) {
        const Channels shifted = shift_channels(keys, offset, width);
        fused.own_ranges.insert(fused.own_ranges.end(), shifted.own_ranges.begin(), shifted.own_ranges.end());
    }
    return fused;
}

BranchSpec make_attention_branch(const ModelConfig& config, const TensorPart& part) {
    const BlockNames& names = find_traits(config.family).block;
    const Channels queries = part.find_query_channels(config);
    const Channels keys = part.find_key_channels(config);
    BranchSpec branch{.norm = std::string(names.attention_norm),
                      .first_matrices = {},
                      .last_matrix = std::string(names.attention_out),
                      .result_channels = queries};
    if (names.attention_in.size() == 1) {
        branch.first_matrices = {{std::string(names.attention_in[0]), fuse_channels(queries, keys)}};
    } else {
        // The first matrix computes the queries; the other two compute keys and values.
        for (const std::string_view name : names.attention_in)
            branch.first_matrices.push_back(
                {std::string(name), branch.first_matrices.empty() ? queries : keys});
    }
    return branch;
}

}  // namespace

AttentionHalf::AttentionHalf(const ModelConfig& config, const TensorPart& part, std::size_t block)
    : branch_(config, block, DropoutSite::attention_residual, make_attention_branch(config, part),
              part.is_first()),
      head_size_(config.head_size()),
      groups_(part.find_head_groups(config).count),
      heads_(groups_ * (config.heads / config.key_value_heads())),
      first_head_(part.find_head_groups(config).begin * (config.heads / config.key_value_heads())),
      query_width_(heads_ * head_size_),
      key_width_(groups_ * head_size_),
      is_causal_(config.is_causal()),
      dropout_(config.attention_dropout) {
    if (find_traits(config.family).has_rotary_positions) frequencies_ = compute_rotary_frequencies(config);
}

kernels::AttentionShape AttentionHalf::make_shape(const Pass& pass) const {
    return {.segments = pass.batch.segments,
            .heads = heads_,
            .key_value_heads = groups_,
            .scale = 1 / std::sqrt(static_cast<double>(head_size_)),
            .is_causal = is_causal_,
            .dropout = {.rate = pass.is_training ? dropout_ : 0,
                        .key = make_site_key(pass, branch_.block(), DropoutSite::attention),
                        .first_head = first_head_}};
}

void AttentionHalf::rotate_queries_and_keys(const Pass& pass, device::Tensor inner, bool is_backward) const {
    if (frequencies_.empty()) return;
    for (const device::Tensor& values : {view_query(inner), view_key(inner)}) {
        launch(pass.stream, kernels::Rotary{.values = values,
                                            .positions = pass.batch.positions,
                                            .frequencies = frequencies_,
                                            .is_backward = is_backward});
    }
}

device::Tensor AttentionHalf::forward(const Pass& pass, Weights weights, device::ConstTensor input,
                                      State& state, device::Arena& stash, const NextNorm* next_norm) const {
    const device::ArenaScope scope(pass.scratch);
    branch_.compute_inner(pass, weights, input, state, stash);
    rotate_queries_and_keys(pass, state.inner, false);
    state.log_sum = stash.tensor(accumulator_type(pass.dtype), pass.batch.rows(), heads_);
    state.result = stash.tensor(pass.dtype, pass.batch.rows(), query_width_);
    launch(pass.stream, kernels::Attention{.query = view_query(state.inner),
                                           .key = view_key(state.inner),
                                           .value = view_value(state.inner),
                                           .output = state.result,
                                           .log_sum = state.log_sum,
                                           .shape = make_shape(pass)});
    return branch_.compute_output(pass, weights, input, state, stash, next_norm);
}

void AttentionHalf::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                                   device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                                   device::Arena& stash) const {
    const device::Tensor grad_result = stash.tensor(pass.dtype, pass.batch.rows(), query_width_);
    branch_.compute_grad_result(pass, weights, grad_output, grad_result, state, stash);
    state.grad_inner = stash.tensor(pass.dtype, pass.batch.rows(), branch_.inner_width());
    launch(pass.stream, kernels::AttentionBackward{.query = view_query(state.inner),
                                                   .key = view_key(state.inner),
                                                   .value = view_value(state.inner),
                                                   .output = state.result,
                                                   .log_sum = state.log_sum,
                                                   .grad_output = grad_result,
                                                   .grad_query = view_query(state.grad_inner),
                                                   .grad_key = view_key(state.grad_inner),
                                                   .grad_value = view_value(state.grad_inner),
                                                   .shape = make_shape(pass)});
    rotate_queries_and_keys(pass, state.grad_inner, true);
    branch_.compute_grad_input(pass, weights, input, grad_input, state, stash);
}

void AttentionHalf::backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                                    device::ConstTensor grad_output, State& state, Gradients gradients,
                                    device::Arena& scratch) const {
    const device::ArenaScope scope(scratch);
    branch_.backward_weight(pass, weights, input, grad_output, state, gradients, scratch);
}

}  // namespace trireme::model
