// The second half of a block: output = input + dropout(project(activation(expand(norm(input))))). The gated MLP
// of llama has two expansions, `gate` and `up`, and silu(gate) * up in place of the activation. With a
// post-norm (bert), expand() reads the input itself, and the output is the norm of the sum.
#pragma once

#include "trireme/model/residual_branch.hpp"

namespace trireme::model {

class MlpHalf {
public:
    // BranchState::inner is the input of the activation: (rows, mlp width), or gate and up side by side, (rows,
    // 2 * mlp width). BranchState::result is the output of the activation: (rows, mlp width). Here `mlp width`
    // is the number of MLP columns that this rank holds.
    struct State : BranchState {};

    MlpHalf(const ModelConfig& config, const TensorPart& part, std::size_t block);
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
    // Computes `result` from `inner`.
    void activate(const Pass& pass, device::ConstTensor inner, device::Tensor result) const;
    // Computes state.grad_inner from `grad_result`, the gradient of state.result.
    void activate_backward(const Pass& pass, device::ConstTensor grad_result, State& state) const;

    ResidualBranch branch_;
    std::size_t mlp_width_;  // MLP columns of this rank
    bool is_gated_;
    kernels::ActivationKind activation_;
};

}  // namespace trireme::model
