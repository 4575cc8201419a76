// The head that finds the answer to a question in a context. It computes two logits per row: one for being the
// first row of the answer, and one for being the last row of the answer.
#pragma once

#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::model {

class SpanHead {
public:
    struct State : LossState {
        device::ConstTensor input;   // (rows, width): all rows of the micro-batch
        device::Tensor grad_logits;  // (rows, 2)
    };

    SpanHead(const ModelConfig& config, const TensorPart& part);
    std::vector<ParameterSpec> parameters() const;  // qa_outputs.weight and .bias

    // Returns an absent tensor, because no layer follows the head. Sets state.loss and state.choices only in
    // evaluation passes: see LossState.
    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    // Returns the logits of all rows, (rows, 2), and sets state.loss. If `gradient_scale` is not 0, returns the
    // gradients of the logits, times `gradient_scale`, instead of the logits. `input` has all rows, and every
    // tensor rank computes the logits of all rows.
    device::Tensor compute_logits_and_loss(const Pass& pass, Weights weights, device::ConstTensor input,
                                           double gradient_scale, State& state, device::Arena& arena) const;

    std::size_t width_;
    double deviation_;  // standard deviation of the initial weights
    bool is_first_;     // true on the first tensor rank
};

}  // namespace trireme::model
