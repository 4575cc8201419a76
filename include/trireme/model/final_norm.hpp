// The norm between the last block and the head.
#pragma once

#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

class FinalNorm {
public:
    struct State {
        Tensor mean, inv_std;  // (rows)
    };

    explicit FinalNorm(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const;  // ln_f.weight, ln_f.bias

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    std::size_t width_;
    double epsilon_;
};

}  // namespace trireme
