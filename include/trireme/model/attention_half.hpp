// The first half of a block: output = input + dropout(project(attention(query, key, value of norm(input)))).
#pragma once

#include "trireme/model/residual_branch.hpp"

namespace trireme::model {

class AttentionHalf {
public:
    // Tensors of this rank's heads. `inner` has queries, keys and values side by side: (rows, (heads + 2 *
    // groups) * head size). `result` is the context: (rows, heads * head size).
    struct State : BranchState {
        device::Tensor log_sum;  // (rows, heads)
    };

    AttentionHalf(const ModelConfig& config, const TensorPart& part, std::size_t block);
    std::vector<ParameterSpec> parameters() const { return branch_.parameters(); }
    std::vector<ProjectionShape> projections() const { return branch_.projections(); }
    void rebalance(const Rebalancing& rebalancing) { branch_.rebalance(rebalancing); }
    std::optional<NextNorm> norm_of_input(const Pass& pass, Weights weights, State& state) const {
        return branch_.norm_of_input(pass, weights, state);
    }

    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& kept, const NextNorm* next_norm = nullptr) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    kernels::AttentionShape shape(const Pass& pass) const;
    // Rotates queries and keys by their positions; a no-op if positions are learned.
    void rotate(const Pass& pass, device::Tensor inner, bool is_backward) const;
    template <class View>
    View query(View inner) const {
        return inner.column_range(0, query_width_);
    }
    template <class View>
    View key(View inner) const {
        return inner.column_range(query_width_, key_width_);
    }
    template <class View>
    View value(View inner) const {
        return inner.column_range(query_width_ + key_width_, key_width_);
    }

    ResidualBranch branch_;
    // Counts and widths of this rank's heads.
    std::size_t head_size_, groups_, heads_, first_head_, query_width_, key_width_;
    bool is_causal_;
    double dropout_;
    std::vector<double> frequencies_;  // of rotary positions; empty if positions are learned
};

}  // namespace trireme::model
