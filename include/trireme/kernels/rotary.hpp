// Rotary position embedding: each pair of channels of a head is rotated by an angle that is proportional to the
// position. (Su et al., 2021)
#pragma once

#include <span>

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// Rotates the pairs of channels (c, c + half) of every head in place, where half = head size / 2 and c < half.
// In row r, the angle is positions[r] * frequencies[c], computed in double. With columns counted from the
// head's first column:
//   values[r, c]        = values[r, c] cos(angle) - values[r, c + half] sin(angle)
//   values[r, c + half] = values[r, c + half] cos(angle) + values[r, c] sin(angle)
// The right-hand sides are the old values. If `is_backward`, rotates gradients by the negative angles.
struct Rotary {
    device::Tensor values;                // (rows, heads * head size); may be a column range of a wider matrix
    device::ConstTensor positions;        // (rows) i32
    std::span<const double> frequencies;  // (half), in radians per position
    bool is_backward = false;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const Rotary& op);
void run(device::CpuStream& stream, const Rotary& op);
void run(device::CudaStream& stream, const Rotary& op);

}  // namespace trireme::kernels
