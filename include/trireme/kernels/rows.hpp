// Moving rows.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// output[i] = input[rows[i]]
struct GatherRows {
    device::ConstTensor input;  // (any, channels)
    device::ConstTensor rows;   // (count) i32
    device::Tensor output;      // (count, channels)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// What becomes of the rows, or the columns, that no index names: they stay, are zero, or the mean of all that
// are named, element by element.
enum class Unnamed : std::uint8_t { stay, zero, mean };

// output[rows[i]] = input[i]; added to what is there if `accumulate`, and so is what the others become. No row
// is named twice.
struct ScatterRows {
    device::ConstTensor input;  // (count, channels)
    device::ConstTensor rows;   // (count) i32
    device::Tensor output;      // (any, channels)
    Unnamed unnamed = Unnamed::stay;
    bool accumulate = false;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// output = input, rounded to the output's type
struct Copy {
    device::ConstTensor input;  // (rows, columns) f32 or f64
    device::Tensor output;      // (rows, columns) f32 or f64

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const GatherRows& op);
void run(device::ReferenceStream& stream, const ScatterRows& op);
void run(device::ReferenceStream& stream, const Copy& op);
void run(device::CpuStream& stream, const GatherRows& op);
void run(device::CpuStream& stream, const ScatterRows& op);
void run(device::CpuStream& stream, const Copy& op);
void run(device::CudaStream& stream, const GatherRows& op);
void run(device::CudaStream& stream, const ScatterRows& op);
void run(device::CudaStream& stream, const Copy& op);

}  // namespace trireme::kernels
