// How far a weight has moved, input channel by input channel.
#pragma once

#include "trireme/kernels/linear.hpp"

namespace trireme {

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
