// Layer norms and RMS norms: those within blocks, and the final one before the head.
#pragma once

#include "trireme/kernels/dropout.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

// A norm with its gain, and its bias if it has one.
class Norm {
public:
    struct State {
        device::Tensor mean;       // (rows); absent for an RMS norm
        device::Tensor inv_scale;  // (rows): 1 / standard deviation, or 1 / root mean square
    };

    // Makes an RMS norm for llama and a layer norm for the other families. `name` is like "transformer.ln_f".
    Norm(const ModelConfig& config, std::string name);
    std::vector<ParameterSpec> parameters() const;  // weight; bias if it is a layer norm

    // `sum`, if present, is computed first; `input` is its output.
    void forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                 State& state, device::Arena& kept, const kernels::ResidualAdd& sum = {}) const;
    // Adds `residual`, if present: the gradient that bypasses the norm. It may be the memory of `grad_input`.
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::ConstTensor residual,
                        device::Tensor grad_input, const State& state) const;
    void backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                         const State& state, Gradients gradients) const;

    std::size_t parameter_count() const { return is_rms_ ? 1 : 2; }

private:
    std::string name_;
    std::size_t width_;
    double epsilon_;
    bool is_rms_;
};

// The norm of the next layer, computed together with the output of the layer before it.
struct NextNorm {
    const Norm& norm;
    Weights weights;
    Norm::State& state;
    device::Tensor& normed;
    bool& is_normed;
};

// The norm between the last block and the head.
class FinalNorm {
public:
    using State = struct FinalNormState : Norm::State {};

    explicit FinalNorm(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const { return norm_.parameters(); }

    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    std::size_t width_;
    Norm norm_;
};

}  // namespace trireme::model
