// Activation functions, element by element.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// gelu_tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), GPT-2's "gelu_new". (Hendrycks and Gimpel, 2016)
enum class ActivationKind : std::uint8_t { gelu_tanh };

struct Activation {
    ConstTensor input;  // (rows, columns)
    Tensor output;      // (rows, columns)
    ActivationKind kind = ActivationKind::gelu_tanh;

    void check() const;
    Cost cost() const;
};

struct ActivationBackward {
    ConstTensor input;        // (rows, columns): what went into the activation
    ConstTensor grad_output;  // (rows, columns)
    Tensor grad_input;        // (rows, columns); may be the memory of grad_output
    ActivationKind kind = ActivationKind::gelu_tanh;

    void check() const;
    Cost cost() const;
};

void run(ReferenceStream& stream, const Activation& op);
void run(ReferenceStream& stream, const ActivationBackward& op);
void run(CpuStream& stream, const Activation& op);
void run(CpuStream& stream, const ActivationBackward& op);

}  // namespace trireme
