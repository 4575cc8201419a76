// What an optimizer does to one tensor; a step does it to all of them with launch_each().
#pragma once

#include <span>

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

//   g         = gradient_scale * gradient
//   moment1   = beta1 moment1 + (1 - beta1) g
//   moment2   = beta2 moment2 + (1 - beta2) g^2
//   parameter = (1 - rate * weight_decay) parameter
//               - rate (moment1 / correction1) / (sqrt(moment2 / correction2) + epsilon)
// with correction_i = 1 - beta_i^step. (Loshchilov and Hutter, 2019)
struct AdamWUpdate {
    device::Tensor parameter;  // (rows, columns), or any shape without gaps; the others likewise
    device::ConstTensor gradient;
    device::Tensor moment1;
    device::Tensor moment2;
    double gradient_scale = 1;
    double rate = 0;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
    std::size_t step = 1;  // of this update, from 1
    device::ConstTensor decaying =
        {};                       // (columns) i32: of which columns the weights decay, 1 or 0; absent: of all
    device::Tensor rounded = {};  // bf16: what the new parameter is rounded to, or absent

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// g = gradient_scale * gradient + weight_decay * parameter;  velocity = momentum * velocity + g
// parameter = parameter - rate * velocity        (without momentum there is no velocity tensor, and it is g)
struct SgdUpdate {
    device::Tensor parameter;  // (rows, columns), or any shape without gaps; the others likewise
    device::ConstTensor gradient;
    device::Tensor velocity = {};  // or absent
    double gradient_scale = 1;
    double rate = 0;
    double momentum = 0;
    double weight_decay = 0;
    device::ConstTensor decaying = {};  // (columns) i32, as above
    device::Tensor rounded = {};        // bf16, as above

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// result[0] = sum of input^2, added in double in an order that depends on the size alone; where rows lie apart,
// also on how many they are
struct SumOfSquares {
    device::ConstTensor input;  // any shape
    device::Tensor result;      // (1) f64

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const AdamWUpdate& op);
void run(device::ReferenceStream& stream, const SgdUpdate& op);
void run(device::ReferenceStream& stream, const SumOfSquares& op);
void run(device::CpuStream& stream, const AdamWUpdate& op);
void run(device::CpuStream& stream, const SgdUpdate& op);
void run(device::CpuStream& stream, const SumOfSquares& op);

// Many tensors at once. Updates of one step differ in their tensors and in weight_decay alone.
void run(device::CudaStream& stream, std::span<const AdamWUpdate> ops);
void run(device::CudaStream& stream, std::span<const SgdUpdate> ops);
void run(device::CudaStream& stream, std::span<const SumOfSquares> ops);

inline void run(device::CudaStream& stream, const AdamWUpdate& op) { run(stream, std::span(&op, 1)); }
inline void run(device::CudaStream& stream, const SgdUpdate& op) { run(stream, std::span(&op, 1)); }
inline void run(device::CudaStream& stream, const SumOfSquares& op) { run(stream, std::span(&op, 1)); }

}  // namespace trireme::kernels
