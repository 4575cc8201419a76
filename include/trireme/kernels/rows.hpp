// Moving rows.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// output[i] = input[rows[i]]
struct GatherRows {
    ConstTensor input;  // (any, channels)
    ConstTensor rows;   // (count) i32
    Tensor output;      // (count, channels)

    void check() const;
    Cost cost() const;
};

// output[rows[i]] = input[i]; the other rows stay as they are. No row is named twice.
struct ScatterRows {
    ConstTensor input;  // (count, channels)
    ConstTensor rows;   // (count) i32
    Tensor output;      // (any, channels)

    void check() const;
    Cost cost() const;
};

// output = input, rounded to the output's type
struct Copy {
    ConstTensor input;  // (rows, columns) f32 or f64
    Tensor output;      // (rows, columns) f32 or f64

    void check() const;
    Cost cost() const;
};

void run(ReferenceStream& stream, const GatherRows& op);
void run(ReferenceStream& stream, const ScatterRows& op);
void run(ReferenceStream& stream, const Copy& op);
void run(CpuStream& stream, const GatherRows& op);
void run(CpuStream& stream, const ScatterRows& op);
void run(CpuStream& stream, const Copy& op);

}  // namespace trireme
