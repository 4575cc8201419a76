// The second half of a block: output = input + dropout(project(activation(expand(norm(input))))). Llama has a
// gated MLP: two expansions, and silu(gate) * up in place of the activation. With a post-norm (bert) the
// norm follows the sum instead.
#pragma once

#include "trireme/model/residual_branch.hpp"

namespace trireme::model {

class MlpHalf {
public:
    // `mlp width` is the number of this rank's MLP columns. `inner` is the input of the activation: (rows, mlp
    // width), or gate and up projection side by side, (rows, 2 * mlp width). `result` is the output of the
    // activation: (rows, mlp width).
    struct State : BranchState {};

    MlpHalf(const ModelConfig& config, const TensorPart& part, std::size_t block);
    std::vector<ParameterSpec> parameters() const { return branch_.parameters(); }
    std::vector<ProjectionShape> projections() const { return branch_.projections(); }
    void rebalance(const Rebalancing& rebalancing) { branch_.rebalance(rebalancing); }
    std::optional<NextNorm> find_input_norm(const Pass& pass, Weights weights, State& state) const {
        return branch_.find_input_norm(pass, weights, state);
    }

    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash, const NextNorm* next_norm = nullptr) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    void activate(const Pass& pass, device::ConstTensor inner, device::Tensor result) const;
    // Computes state.grad_inner from the gradient of state.result.
    void activate_backward(const Pass& pass, device::ConstTensor grad_result, State& state) const;

    ResidualBranch branch_;
    std::size_t mlp_width_;
    bool is_gated_;
    kernels::ActivationKind activation_;
};

}  // namespace trireme::model
