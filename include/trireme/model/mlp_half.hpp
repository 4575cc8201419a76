// The second half of a block: output = input + dropout(project(activation(expand(norm(input))))). Llama expands
// twice and one expansion gates the other.
#pragma once

#include "trireme/model/residual_branch.hpp"

namespace trireme {

class MlpHalf {
public:
    // Of this rank's columns. inner: before the activation (rows, mlp width), or gate and values side by side
    // (rows, 2 mlp width); result: after it (rows, mlp width)
    struct State : BranchState {};

    MlpHalf(const ModelConfig& config, const TensorPart& part, std::size_t block);
    std::vector<ParameterSpec> parameters() const { return branch_.parameters(); }
    std::vector<ProjectionShape> projections() const { return branch_.projections(); }
    void rebalance(const Rebalancing& rebalancing) { branch_.rebalance(rebalancing); }
    std::optional<NextNorm> norm_of_input(const Pass& pass, Weights weights, State& state) const {
        return branch_.norm_of_input(pass, weights, state);
    }

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept,
                   const NextNorm* next_norm = nullptr) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    void activate(const Pass& pass, ConstTensor inner, Tensor result) const;
    // From the gradient of the result to state.grad_inner.
    void deactivate(const Pass& pass, ConstTensor grad_result, State& state) const;

    ResidualBranch branch_;
    std::size_t mlp_width_;
    bool is_gated_;
    ActivationKind activation_;
};

}  // namespace trireme
