// The norm between the last block and the head.
#pragma once

#include "trireme/model/norm.hpp"

namespace trireme {

class FinalNorm {
public:
    using State = struct FinalNormState : Norm::State {};

    explicit FinalNorm(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const { return norm_.parameters(); }

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    std::size_t width_;
    Norm norm_;
};

}  // namespace trireme
