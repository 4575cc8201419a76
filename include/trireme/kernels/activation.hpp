// Element-wise activation functions and their backward passes.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

//   gelu_tanh   x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), "gelu_new" of GPT-2 (Hendrycks and Gimpel, 2016)
//   gelu        x/2 (1 + erf(x / sqrt(2))), the activation of BERT
//   tanh        the hyperbolic tangent, used in the pooler of BERT
enum class ActivationKind : std::uint8_t { gelu_tanh, gelu, tanh };

// output = f(input) for the function f of `kind`.
struct Activation {
    device::ConstTensor input;  // (rows, columns)
    device::Tensor output;      // (rows, columns)
    ActivationKind kind = ActivationKind::gelu_tanh;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = grad_output * f'(input).
struct ActivationBackward {
    device::ConstTensor input;        // (rows, columns): the input of the forward pass
    device::ConstTensor grad_output;  // (rows, columns)
    device::Tensor grad_input;        // (rows, columns); may share memory with grad_output
    ActivationKind kind = ActivationKind::gelu_tanh;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// The gated activation of Llama's MLP: output = silu(gate) * up, silu(x) = x / (1 + exp(-x)). (Shazeer, 2020)
struct SiluGate {
    device::ConstTensor gate;  // (rows, columns); each tensor may be a column range of a wider matrix
    device::ConstTensor up;    // (rows, columns)
    device::Tensor output;     // (rows, columns)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_gate = grad_output * up * silu'(gate); grad_up = grad_output * silu(gate)
struct SiluGateBackward {
    device::ConstTensor gate;         // (rows, columns)
    device::ConstTensor up;           // (rows, columns)
    device::ConstTensor grad_output;  // (rows, columns)
    device::Tensor grad_gate;         // (rows, columns)
    device::Tensor grad_up;           // (rows, columns)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const Activation& op);
void run(device::ReferenceStream& stream, const ActivationBackward& op);
void run(device::CpuStream& stream, const Activation& op);
void run(device::CpuStream& stream, const ActivationBackward& op);
void run(device::ReferenceStream& stream, const SiluGate& op);
void run(device::ReferenceStream& stream, const SiluGateBackward& op);
void run(device::CpuStream& stream, const SiluGate& op);
void run(device::CpuStream& stream, const SiluGateBackward& op);
void run(device::CudaStream& stream, const Activation& op);
void run(device::CudaStream& stream, const ActivationBackward& op);
void run(device::CudaStream& stream, const SiluGate& op);
void run(device::CudaStream& stream, const SiluGateBackward& op);

}  // namespace trireme::kernels
