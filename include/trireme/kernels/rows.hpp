// Gathers, scatters and copies rows.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// output[i] = input[rows[i]]
struct GatherRows {
    device::ConstTensor input;  // (any number of rows, channels)
    device::ConstTensor rows;   // (count) i32
    device::Tensor output;      // (count, channels)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// The value of output rows (ScatterRows) or output columns (ScatterColumns) without an index: the old value,
// zero, or the element-wise mean of all input rows or columns.
enum class UnindexedFill : std::uint8_t { keep, zero, mean };

// output[rows[i]] = input[i]. The rows of the output that are not in `rows` get the value that `unindexed_fill`
// selects. If `accumulate`, the input and the fill value (zero or mean) are added to the output instead of
// stored. The indices must be distinct.
struct ScatterRows {
    device::ConstTensor input;  // (count, channels)
    device::ConstTensor rows;   // (count) i32
    device::Tensor output;      // (any number of rows, channels)
    UnindexedFill unindexed_fill = UnindexedFill::keep;
    bool accumulate = false;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// output = input, rounded to the output's type
struct Copy {
    device::ConstTensor input;  // (rows, columns) f32 or f64; on a GPU also bf16
    device::Tensor output;      // (rows, columns) f32 or f64; on a GPU also bf16

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
