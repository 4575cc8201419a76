// The second half of a block: output = input + dropout(project(activation(expand(norm(input))))).
#pragma once

#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

class MlpHalf {
public:
    struct State {
        Tensor mean, inv_std;         // (rows)
        Tensor normed;                // (rows, width)
        Tensor expanded;              // (rows, mlp width)  before the activation
        Tensor activated;             // (rows, mlp width)
        ConstTensor grad_projection;  // (rows, width)      gradient of the projection's output
        Tensor grad_expanded;         // (rows, mlp width)
        Tensor grad_normed;           // (rows, width)
    };

    MlpHalf(const ModelConfig& config, std::size_t block);
    std::vector<ParameterSpec> parameters() const;  // ln_2, mlp.c_fc, mlp.c_proj: weight and bias each

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    std::size_t block_, layers_, width_, mlp_width_;
    double epsilon_, deviation_, dropout_;
};

}  // namespace trireme
