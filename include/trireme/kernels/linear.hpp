// Matmuls with a weight. The two halves of the backward pass, the gradients of the input and of the weight, are
// separate operations, so that a schedule may run them at different times.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// Memory layout of a weight: GPT-2 stores (in, out), the other families (out, in).
enum class WeightAxes : std::uint8_t { in_out, out_in };

// output = input W + bias, where W (in, out) is the weight or its transpose. If `activated_output` is present,
// activated_output = activation(output). `output` is stored as well, because the backward pass of the
// activation needs it.
struct Linear {
    device::ConstTensor input;      // (rows, in)
    device::ConstTensor weight;     // (in, out) or (out, in)
    device::ConstTensor bias = {};  // (out), or absent
    device::Tensor output;          // (rows, out)
    WeightAxes axes = WeightAxes::in_out;
    device::Tensor activated_output = {};  // (rows, out), or absent
    ActivationKind activation = ActivationKind::gelu_tanh;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = grad_output W^T. If `accumulate`, the result is added to grad_input instead of stored. If
// `activation_input` is present, the input of the forward pass was activation(activation_input), and grad_input
// becomes the gradient of activation_input instead; `accumulate` must then be false.
struct LinearBackwardInput {
    device::ConstTensor grad_output;  // (rows, out)
    device::ConstTensor weight;       // (in, out) or (out, in)
    device::Tensor grad_input;        // (rows, in)
    WeightAxes axes = WeightAxes::in_out;
    bool accumulate = false;
    device::ConstTensor activation_input = {};  // (rows, in), or absent
    ActivationKind activation = ActivationKind::gelu_tanh;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_weight += input^T grad_output; grad_bias += column sums of grad_output
struct LinearBackwardWeight {
    device::ConstTensor input;        // (rows, in)
    device::ConstTensor grad_output;  // (rows, out)
    device::Tensor grad_weight;       // (in, out) or (out, in)
    device::Tensor grad_bias = {};    // (out), or absent
    WeightAxes axes = WeightAxes::in_out;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// sums += column sums of input. With grad_output as its input, this operation computes only the grad_bias of
// LinearBackwardWeight.
struct ColumnSums {
    device::ConstTensor input;  // (rows, columns)
    device::Tensor sums;        // (columns)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// Returns true if matmuls should fuse the activation `kind`: the matmul library can fuse it, and fusing saves
// time and is precise enough for `dtype`. Always false on a CPU. If false, callers launch the activation as an
// operation of its own. The work ledger then has separate times of the matmul and the activation.
bool fuses_activation(const device::Stream& stream, device::DType dtype, ActivationKind kind);
bool fuses_activation(const device::CudaStream& stream, device::DType dtype, ActivationKind kind);

void run(device::ReferenceStream& stream, const Linear& op);
void run(device::ReferenceStream& stream, const LinearBackwardInput& op);
void run(device::ReferenceStream& stream, const LinearBackwardWeight& op);
void run(device::ReferenceStream& stream, const ColumnSums& op);
void run(device::CpuStream& stream, const Linear& op);
void run(device::CpuStream& stream, const LinearBackwardInput& op);
void run(device::CpuStream& stream, const LinearBackwardWeight& op);
void run(device::CpuStream& stream, const ColumnSums& op);
void run(device::CudaStream& stream, const Linear& op);
void run(device::CudaStream& stream, const LinearBackwardInput& op);
void run(device::CudaStream& stream, const LinearBackwardWeight& op);
void run(device::CudaStream& stream, const ColumnSums& op);

// The change of a weight per input channel i, summed over the output channels o:
//   change[i] += sum over o of |W[i, o] - old W[i, o]|
struct ChannelChange {
    device::ConstTensor weight;      // (in, out) or (out, in)
    device::ConstTensor old_weight;  // (in, out) or (out, in)
    device::Tensor change;           // (in) f64
    WeightAxes axes = WeightAxes::in_out;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const ChannelChange& op);
void run(device::CpuStream& stream, const ChannelChange& op);
void run(device::CudaStream& stream, const ChannelChange& op);

}  // namespace trireme::kernels
