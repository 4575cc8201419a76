// The first half of a block: output = input + dropout(project(attention(q, k, v))), where q, k and v are
// projections of norm(input). With a post-norm (bert), q, k and v are projections of the input, and the output
// is the norm of the sum.
#pragma once

#include "trireme/model/residual_branch.hpp"

namespace trireme::model {

class AttentionHalf {
public:
    // BranchState::inner has queries, keys and values side by side: (rows, (heads + 2 * groups) * head size).
    // BranchState::result is the output of the attention: (rows, heads * head size). Here `heads` and `groups`
    // are the numbers of query heads and of key-value heads that this rank holds.
    struct State : BranchState {
        device::Tensor log_sum;  // (rows, heads): log of the sum of exponentials in the softmax
    };

    AttentionHalf(const ModelConfig& config, const TensorPart& part, std::size_t block);
    std::vector<ParameterSpec> parameters() const { return branch_.parameters(); }
    std::vector<ProjectionShape> projections() const { return branch_.projections(); }
    void rebalance(const Rebalancing& rebalancing) { branch_.rebalance(rebalancing); }
    std::optional<NextNorm> find_input_norm(const Pass& pass, Weights weights, State& state) const {
        return branch_.find_input_norm(pass, weights, state);
    }

    // The calls of a layer: see layer.hpp. Unless `next_norm` is null, forward() also computes this norm.
    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash, const NextNorm* next_norm = nullptr) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    kernels::AttentionShape make_shape(const Pass& pass) const;
    // Rotates each query and key in `inner` by the position of its token (rotary position embedding). If
    // `is_backward` is true, `inner` has the gradients of queries and keys, and the rotation is inverted. A
    // no-op if positions are learned.
    void rotate_queries_and_keys(const Pass& pass, device::Tensor inner, bool is_backward) const;
    template <class View>
    View view_query(View inner) const {
        return inner.column_range(0, query_width_);
    }
    template <class View>
    View view_key(View inner) const {
        return inner.column_range(query_width_, key_width_);
    }
    template <class View>
    View view_value(View inner) const {
        return inner.column_range(query_width_ + key_width_, key_width_);
    }

    ResidualBranch branch_;
    // This rank holds `heads_` query heads and `groups_` key-value heads. `first_head_` is the number that the
    // first of these query heads has in the model. The rank's queries are `query_width_` columns of `inner`,
    // its keys `key_width_` columns, and its values also `key_width_` columns.
    std::size_t head_size_, groups_, heads_, first_head_, query_width_, key_width_;
    bool is_causal_;
    double dropout_;
    std::vector<double> frequencies_;  // see compute_rotary_frequencies(); empty if positions are learned
};

}  // namespace trireme::model
