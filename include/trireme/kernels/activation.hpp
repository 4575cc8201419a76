// Activation functions, element by element.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

//   gelu_tanh   x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), GPT-2's "gelu_new" (Hendrycks and Gimpel, 2016)
//   gelu        x/2 (1 + erf(x / sqrt(2))), BERT's
//   tanh        of BERT's pooler
enum class ActivationKind : std::uint8_t { gelu_tanh, gelu, tanh };

struct Activation {
    ConstTensor input;  // (rows, columns)
    Tensor output;      // (rows, columns)
    ActivationKind kind = ActivationKind::gelu_tanh;

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

struct ActivationBackward {
    ConstTensor input;        // (rows, columns): what went into the activation
    ConstTensor grad_output;  // (rows, columns)
    Tensor grad_input;        // (rows, columns); may be the memory of grad_output
    ActivationKind kind = ActivationKind::gelu_tanh;

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// output = silu(gate) * up, silu(x) = x / (1 + exp(-x)): Llama's MLP. (Shazeer, 2020)
struct SiluGate {
    ConstTensor gate;  // (rows, columns); like the others, it may be a column range
    ConstTensor up;    // (rows, columns)
    Tensor output;     // (rows, columns)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

struct SiluGateBackward {
    ConstTensor gate;         // (rows, columns)
    ConstTensor up;           // (rows, columns)
    ConstTensor grad_output;  // (rows, columns)
    Tensor grad_gate;         // (rows, columns)
    Tensor grad_up;           // (rows, columns)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

void run(ReferenceStream& stream, const Activation& op);
void run(ReferenceStream& stream, const ActivationBackward& op);
void run(CpuStream& stream, const Activation& op);
void run(CpuStream& stream, const ActivationBackward& op);
void run(ReferenceStream& stream, const SiluGate& op);
void run(ReferenceStream& stream, const SiluGateBackward& op);
void run(CpuStream& stream, const SiluGate& op);
void run(CpuStream& stream, const SiluGateBackward& op);
void run(CudaStream& stream, const Activation& op);
void run(CudaStream& stream, const ActivationBackward& op);
void run(CudaStream& stream, const SiluGate& op);
void run(CudaStream& stream, const SiluGateBackward& op);

}  // namespace trireme
