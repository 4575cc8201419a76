// Matrix products with a weight: forward, and its two backward halves, which are separate so that a schedule
// may place them apart.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// How a weight lies in memory: GPT-2 stores (in, out), most other families (out, in).
enum class WeightAxes : std::uint8_t { in_out, out_in };

// output = input W + bias; activated = activation(output)
struct Linear {
    ConstTensor input;      // (rows, in)
    ConstTensor weight;     // (in, out) or (out, in)
    ConstTensor bias = {};  // (out), or absent
    Tensor output;          // (rows, out)
    WeightAxes axes = WeightAxes::in_out;
    Tensor activated = {};  // (rows, out), or absent
    ActivationKind activation = ActivationKind::gelu_tanh;

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = grad_output W^T; added to what is there if `accumulate`. Where the input was `activated_from`
// something, grad_input becomes the gradient of that, and nothing is there yet.
struct LinearBackwardInput {
    ConstTensor grad_output;  // (rows, out)
    ConstTensor weight;       // (in, out) or (out, in)
    Tensor grad_input;        // (rows, in)
    WeightAxes axes = WeightAxes::in_out;
    bool accumulate = false;
    ConstTensor activated_from = {};  // (rows, in), or absent
    ActivationKind activation = ActivationKind::gelu_tanh;

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// grad_weight += input^T grad_output; grad_bias += column sums of grad_output
struct LinearBackwardWeight {
    ConstTensor input;        // (rows, in)
    ConstTensor grad_output;  // (rows, out)
    Tensor grad_weight;       // (in, out) or (out, in)
    Tensor grad_bias = {};    // (out), or absent
    WeightAxes axes = WeightAxes::in_out;

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// sums += column sums of input: what LinearBackwardWeight does for a bias, alone
struct ColumnSums {
    ConstTensor input;  // (rows, columns)
    Tensor sums;        // (columns)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// Whether a product does an activation along with its own work, so that it is worth to be asked for both at
// once. Elsewhere each of them has a time of its own.
bool joins_activation(const Stream& stream, DType dtype, ActivationKind kind);
bool joins_activation(const CudaStream& stream, DType dtype, ActivationKind kind);

void run(ReferenceStream& stream, const Linear& op);
void run(ReferenceStream& stream, const LinearBackwardInput& op);
void run(ReferenceStream& stream, const LinearBackwardWeight& op);
void run(ReferenceStream& stream, const ColumnSums& op);
void run(CpuStream& stream, const Linear& op);
void run(CpuStream& stream, const LinearBackwardInput& op);
void run(CpuStream& stream, const LinearBackwardWeight& op);
void run(CpuStream& stream, const ColumnSums& op);
void run(CudaStream& stream, const Linear& op);
void run(CudaStream& stream, const LinearBackwardInput& op);
void run(CudaStream& stream, const LinearBackwardWeight& op);
void run(CudaStream& stream, const ColumnSums& op);

// How far a weight has moved, input channel by input channel:
// change[i] += sum over o of |weight[i, o] - before[i, o]|
struct ChannelChange {
    ConstTensor weight;  // (in, out) or (out, in)
    ConstTensor before;  // likewise
    Tensor change;       // (in) f64
    WeightAxes axes = WeightAxes::in_out;

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

void run(ReferenceStream& stream, const ChannelChange& op);
void run(CpuStream& stream, const ChannelChange& op);
void run(CudaStream& stream, const ChannelChange& op);

}  // namespace trireme
