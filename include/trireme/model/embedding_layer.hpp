// Token and position tables, and dropout.
#pragma once

#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

class EmbeddingLayer {
public:
    struct State {};

    explicit EmbeddingLayer(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const;  // wte.weight, wpe.weight

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    std::size_t width_, vocabulary_, positions_;
    double deviation_, dropout_;
};

}  // namespace trireme
