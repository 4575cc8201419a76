// Matrix products with a weight: forward, and its two backward halves, which are separate so that a schedule
// may place them apart.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// How a weight lies in memory: GPT-2 stores (in, out), most other families (out, in).
enum class WeightAxes : std::uint8_t { in_out, out_in };

// output = input W + bias; activated = activation(output)
struct Linear {
    device::ConstTensor input;      // (rows, in)
    device::ConstTensor weight;     // (in, out) or (out, in)
    device::ConstTensor bias = {};  // (out), or absent
    device::Tensor output;          // (rows, out)
    WeightAxes axes = WeightAxes::in_out;
    device::Tensor activated = {};  // (rows, out), or absent
    ActivationKind activation = ActivationKind::gelu_tanh;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = grad_output W^T; added to what is there if `accumulate`. Where the input was `activated_from`
// something, grad_input becomes the gradient of that, and nothing is there yet.
struct LinearBackwardInput {
    device::ConstTensor grad_output;  // (rows, out)
    device::ConstTensor weight;       // (in, out) or (out, in)
    device::Tensor grad_input;        // (rows, in)
    WeightAxes axes = WeightAxes::in_out;
    bool accumulate = false;
    device::ConstTensor activated_from = {};  // (rows, in), or absent
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

// sums += column sums of input: what LinearBackwardWeight does for a bias, alone
struct ColumnSums {
    device::ConstTensor input;  // (rows, columns)
    device::Tensor sums;        // (columns)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// Whether a product does an activation along with its own work, so that it is worth to be asked for both at
// once. Elsewhere each of them has a time of its own.
bool joins_activation(const device::Stream& stream, device::DType dtype, ActivationKind kind);
bool joins_activation(const device::CudaStream& stream, device::DType dtype, ActivationKind kind);

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

// How far a weight has moved, input channel by input channel:
// change[i] += sum over o of |weight[i, o] - before[i, o]|
struct ChannelChange {
    device::ConstTensor weight;  // (in, out) or (out, in)
    device::ConstTensor before;  // likewise
    device::Tensor change;       // (in) f64
    WeightAxes axes = WeightAxes::in_out;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const ChannelChange& op);
void run(device::CpuStream& stream, const ChannelChange& op);
void run(device::CudaStream& stream, const ChannelChange& op);

}  // namespace trireme::kernels
