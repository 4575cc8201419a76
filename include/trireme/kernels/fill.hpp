// Initial values of tensors.
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

// output = normally distributed numbers with mean 0. Element (r, c) of `output` is element
//   e = first_element + r * global_columns + c
// of the global tensor, flattened row by row. Four consecutive elements, 4 b to 4 b + 3, use random block b of
// the key: words 0 and 1 of the block yield the first two elements, and words 2 and 3 yield the last two, by
// the transform of Box and Muller in double.
struct FillNormal {
    device::Tensor output;           // (rows, columns)
    RandomKey key;                   // derived from the seed and the tensor's name
    double deviation = 1;            // standard deviation
    std::size_t first_element = 0;   // index of output(0, 0) in the flattened global tensor
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
