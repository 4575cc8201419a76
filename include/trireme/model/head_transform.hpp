// The layer between the last block and the head of bert. For Task::masked the layer consists of a matrix, the
// model's activation and a norm. For Task::classify it is the pooler: a matrix, tanh and dropout. For
// Task::span there is no such layer. Hugging Face applies the pooler only to the first token of a sample. This
// layer applies the pooler to all rows, which has no effect on the loss: only the first token of a sample has a
// target. Every tensor rank holds all parameters and computes its own rows.
#pragma once

#include <optional>

#include "trireme/model/norm.hpp"
#include "trireme/model/projection.hpp"

namespace trireme::model {

class HeadTransform {
public:
    struct State {
        device::Tensor inner;   // (own rows, width): output of the matrix
        device::Tensor result;  // (own rows, width): output of the activation, after dropout if dropout is on
        Norm::State norm;
        device::Tensor grad_inner;   // (own rows, width): gradient of `inner`
        HelperStates helper_states;  // always empty, because the matrix is never rebalanced
    };

    explicit HeadTransform(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const;

    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    std::size_t width_;
    Projection dense_;
    kernels::ActivationKind activation_;
    std::optional<Norm> norm_;
    double dropout_;
};

}  // namespace trireme::model
