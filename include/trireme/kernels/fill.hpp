// First values of tensors.
#pragma once

#include "trireme/base/random.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// output = value everywhere
struct Fill {
    device::Tensor output;  // (rows, columns)
    double value = 0;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// output = normally distributed numbers. Element e of the flattened global tensor comes from block e / 4 of the
// key's stream: words 0, 1 make elements 0, 1 and words 2, 3 elements 2, 3 by Box and Muller's transform in
// double. Element (r, c) of `output` is element first_element + r * global_columns + c.
struct FillNormal {
    device::Tensor output;  // (rows, columns)
    RandomKey key;          // (seed, tensor name)
    double deviation = 1;
    std::size_t first_element = 0;
    std::size_t global_columns = 0;  // columns of the global tensor that `output` is a slice of

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const Fill& op);
void run(device::ReferenceStream& stream, const FillNormal& op);
void run(device::CpuStream& stream, const Fill& op);
void run(device::CpuStream& stream, const FillNormal& op);
void run(device::CudaStream& stream, const Fill& op);
void run(device::CudaStream& stream, const FillNormal& op);

}  // namespace trireme::kernels
