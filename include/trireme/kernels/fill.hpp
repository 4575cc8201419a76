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

// output = normally distributed numbers with mean 0. Element e of the flattened global tensor uses random block
// e / 4 of the key. Words 0 and 1 yield its elements 0 and 1, words 2 and 3 its elements 2 and 3, by the
// transform of Box and Muller in double. Element (r, c) of `output` is global element first_element +
// r * global_columns + c.
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
