// Layer norms and RMS norms as parts of layers, and the final norm as a layer of its own.
#pragma once

#include "trireme/kernels/dropout.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

// A layer norm with gain and bias, or an RMS norm with a gain.
class Norm {
public:
    struct State {
        device::Tensor mean;       // (own rows); absent for an RMS norm
        device::Tensor inv_scale;  // (own rows): 1 / standard deviation, or 1 / root mean square
    };

    // Makes an RMS norm for llama and a layer norm for the other families. `name` is the prefix of the names of
    // the parameters, for example "transformer.ln_f".
    Norm(const ModelConfig& config, std::string name);
    std::vector<ParameterSpec> parameters() const;  // weight; for a layer norm also bias

    // All tensors are (own rows, width). If `residual_add` is present, `input` must be residual_add.output.
    // forward() then runs residual_add before the norm, in the same kernel if the device can fuse the two.
    void forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                 State& state, device::Arena& stash, const kernels::ResidualAdd& residual_add = {}) const;
    // `residual` is the gradient that bypasses the norm. It is added to the result. `residual` may be absent,
    // and may share the memory of `grad_input`.
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::ConstTensor residual,
                        device::Tensor grad_input, const State& state) const;
    // A no-op unless adds_shared_gradients() is true.
    void backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                         const State& state, Gradients gradients) const;

    std::size_t count_parameters() const { return is_rms_ ? 1 : 2; }  // number of tensors

private:
    std::string name_;
    std::size_t width_;
    double epsilon_;
    bool is_rms_;
};

// The norm at the input of the next layer. The current layer computes this norm together with its own output.
// All references are to members of the next layer and of its state.
struct NextNorm {
    const Norm& norm;
    Weights weights;              // of the norm
    Norm::State& state;           // filled by the current layer
    device::Tensor& norm_output;  // allocated and filled by the current layer: (own rows, width)
    bool& has_norm_output;        // set to true by the current layer
};

// The norm between the last block and the head.
class FinalNorm {
public:
    using State = struct FinalNormState : Norm::State {};

    explicit FinalNorm(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const { return norm_.parameters(); }

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
    Norm norm_;
};

}  // namespace trireme::model
