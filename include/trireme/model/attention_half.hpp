// The first half of a block: output = input + dropout(project(attention(qkv(norm(input))))).
#pragma once

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

class AttentionHalf {
public:
    struct State {
        Tensor mean, inv_std;         // (rows)
        Tensor normed;                // (rows, width)
        Tensor qkv;                   // (rows, 3 width)
        Tensor log_sum;               // (rows, heads)
        Tensor context;               // (rows, width)
        ConstTensor grad_projection;  // (rows, width)   gradient of the projection's output
        Tensor grad_qkv;              // (rows, 3 width)
        Tensor grad_normed;           // (rows, width)
    };

    AttentionHalf(const ModelConfig& config, std::size_t block);
    std::vector<ParameterSpec> parameters() const;  // ln_1, attn.c_attn, attn.c_proj: weight and bias each

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    AttentionShape shape(const Pass& pass) const;

    std::size_t block_, layers_, width_, heads_;
    double epsilon_, deviation_, dropout_;
};

}  // namespace trireme
