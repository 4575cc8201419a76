// The first half of a block: output = input + dropout(project(attention(query, key, value of norm(input)))).
#pragma once

#include "trireme/model/residual_branch.hpp"

namespace trireme {

class AttentionHalf {
public:
    // inner: queries, keys and values side by side (rows, width + 2 groups * head size); result: the context
    // (rows, width)
    struct State : BranchState {
        Tensor log_sum;  // (rows, heads)
    };

    AttentionHalf(const ModelConfig& config, std::size_t block);
    std::vector<ParameterSpec> parameters() const { return branch_.parameters(); }

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    AttentionShape shape(const Pass& pass) const;
    void rotate(const Pass& pass, Tensor inner,
                bool is_backward) const;  // queries and keys, by their positions
    template <class View>
    View query(View inner) const {
        return inner.column_range(0, width_);
    }
    template <class View>
    View key(View inner) const {
        return inner.column_range(width_, key_width_);
    }
    template <class View>
    View value(View inner) const {
        return inner.column_range(width_ + key_width_, key_width_);
    }

    ResidualBranch branch_;
    std::size_t width_, heads_, groups_, key_width_;
    bool is_causal_;
    double dropout_;
    std::vector<double> frequencies_;  // of rotary positions; none: positions are learned
};

}  // namespace trireme
