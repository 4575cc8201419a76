// The head that says where an answer begins and ends: two numbers for each row.
#pragma once

#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

class SpanHead {
public:
    struct State : LossState {
        Tensor grad_logits;  // (rows, 2)
    };

    explicit SpanHead(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const;  // qa_outputs.weight and .bias

    // Gives back an absent tensor: the loss is in the state.
    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    // The logits of all rows; with a scale for gradients, these in their place. Fills state.loss.
    Tensor logits_and_loss(const Pass& pass, Weights weights, ConstTensor input, double gradient_scale,
                           State& state, Arena& arena) const;

    std::size_t width_;
    double deviation_;
};

}  // namespace trireme
