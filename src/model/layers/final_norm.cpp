#include "trireme/model/final_norm.hpp"

#include "model/families/family.hpp"

namespace trireme {

FinalNorm::FinalNorm(const ModelConfig& config)
    : width_(config.width), norm_(config, traits_of(config.family).final_norm) {}

Tensor FinalNorm::forward(const Pass& pass, Weights weights, ConstTensor input, State& state,
                          Arena& kept) const {
    const Tensor output = kept.tensor(pass.dtype, input.rows, width_);
    norm_.forward(pass, weights, input, output, state, kept);
    return output;
}

void FinalNorm::backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                               Tensor grad_input, State& state, Arena& /*kept*/) const {
    norm_.backward_input(pass, weights, input, grad_output, {}, grad_input, state);
}

void FinalNorm::backward_weight(const Pass& pass, Weights /*weights*/, ConstTensor input,
                                ConstTensor grad_output, State& state, Gradients gradients,
                                Arena& /*scratch*/) const {
    norm_.backward_weight(pass, input, grad_output, state, gradients);
}

}  // namespace trireme
