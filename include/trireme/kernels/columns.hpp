// Gathers and scatters columns by index.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme::kernels {

// output[r, i] = input[r, columns[i]]
struct GatherColumns {
    device::ConstTensor input;    // (rows, any number of columns)
    device::ConstTensor columns;  // (count) i32
    device::Tensor output;        // (rows, count)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// output[r, columns[i]] = input[r, i]. The columns of the output that are not in `columns` get the value that
// `unindexed_fill` selects. If `accumulate`, the input and the fill value (zero or mean) are added to the
// output instead of stored. The indices must be distinct.
struct ScatterColumns {
    device::ConstTensor input;    // (rows, count)
    device::ConstTensor columns;  // (count) i32
    device::Tensor output;        // (rows, any number of columns)
    UnindexedFill unindexed_fill = UnindexedFill::keep;
    bool accumulate = false;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const GatherColumns& op);
void run(device::ReferenceStream& stream, const ScatterColumns& op);
void run(device::CpuStream& stream, const GatherColumns& op);
void run(device::CpuStream& stream, const ScatterColumns& op);
void run(device::CudaStream& stream, const GatherColumns& op);
void run(device::CudaStream& stream, const ScatterColumns& op);

}  // namespace trireme::kernels
