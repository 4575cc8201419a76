// Matrix products with a weight: forward, and its two backward halves, which are separate so that a schedule
// may place them apart.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// How a weight lies in memory: GPT-2 stores (in, out), most other families (out, in).
enum class WeightAxes : std::uint8_t { in_out, out_in };

// output = input W + bias
struct Linear {
    ConstTensor input;      // (rows, in)
    ConstTensor weight;     // (in, out) or (out, in)
    ConstTensor bias = {};  // (out), or absent
    Tensor output;          // (rows, out)
    WeightAxes axes = WeightAxes::in_out;

    void check() const;
    Cost cost() const;
};

// grad_input = grad_output W^T; added to what is there if `accumulate`
struct LinearBackwardInput {
    ConstTensor grad_output;  // (rows, out)
    ConstTensor weight;       // (in, out) or (out, in)
    Tensor grad_input;        // (rows, in)
    WeightAxes axes = WeightAxes::in_out;
    bool accumulate = false;

    void check() const;
    Cost cost() const;
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
};

void run(ReferenceStream& stream, const Linear& op);
void run(ReferenceStream& stream, const LinearBackwardInput& op);
void run(ReferenceStream& stream, const LinearBackwardWeight& op);
void run(CpuStream& stream, const Linear& op);
void run(CpuStream& stream, const LinearBackwardInput& op);
void run(CpuStream& stream, const LinearBackwardWeight& op);
void run(CudaStream& stream, const Linear& op);
void run(CudaStream& stream, const LinearBackwardInput& op);
void run(CudaStream& stream, const LinearBackwardWeight& op);

}  // namespace trireme
