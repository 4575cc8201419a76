// The first half of a block: output = input + dropout(project(attention(qkv(norm(input))))).
#pragma once

#include "trireme/model/residual_branch.hpp"

namespace trireme {

class AttentionHalf {
public:
    // inner: queries, keys and values side by side (rows, 3 width); result: the context (rows, width)
    struct State : BranchState {
        Tensor log_sum;  // (rows, heads)
    };

    AttentionHalf(const ModelConfig& config, std::size_t block);
    std::vector<ParameterSpec> parameters() const;  // ln_1, attn.c_attn, attn.c_proj

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    AttentionShape shape(const Pass& pass) const;

    ResidualBranch branch_;
    std::size_t width_, heads_;
    double dropout_;
};

}  // namespace trireme
