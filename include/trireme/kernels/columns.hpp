// Moving columns.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme {

// output[r, i] = input[r, columns[i]]
struct GatherColumns {
    ConstTensor input;    // (rows, any)
    ConstTensor columns;  // (count) i32
    Tensor output;        // (rows, count)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// output[r, columns[i]] = input[r, i]; added to what is there if `accumulate`, and so is what the others
// become. No column is named twice.
struct ScatterColumns {
    ConstTensor input;    // (rows, count)
    ConstTensor columns;  // (count) i32
    Tensor output;        // (rows, any)
    Unnamed unnamed = Unnamed::stay;
    bool accumulate = false;

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

void run(ReferenceStream& stream, const GatherColumns& op);
void run(ReferenceStream& stream, const ScatterColumns& op);
void run(CpuStream& stream, const GatherColumns& op);
void run(CpuStream& stream, const ScatterColumns& op);
void run(CudaStream& stream, const GatherColumns& op);
void run(CudaStream& stream, const ScatterColumns& op);

}  // namespace trireme
