// The second half of a block: output = input + dropout(project(activation(expand(norm(input))))).
#pragma once

#include "trireme/model/residual_branch.hpp"

namespace trireme {

class MlpHalf {
public:
    // inner: before the activation; result: after it (rows, mlp width)
    struct State : BranchState {};

    MlpHalf(const ModelConfig& config, std::size_t block);
    std::vector<ParameterSpec> parameters() const;  // ln_2, mlp.c_fc, mlp.c_proj

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    ResidualBranch branch_;
    std::size_t mlp_width_;
};

}  // namespace trireme
