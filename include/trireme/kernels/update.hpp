// Optimizer updates of one tensor. An optimizer step updates all tensors with launch_each().
#pragma once

#include <span>

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// AdamW (Loshchilov and Hutter, 2019):
//   g         = gradient_scale * gradient
//   moment1   = beta1 moment1 + (1 - beta1) g
//   moment2   = beta2 moment2 + (1 - beta2) g^2
//   parameter = (1 - rate * weight_decay) parameter
//               - rate (moment1 / correction1) / (sqrt(moment2 / correction2) + epsilon)
// with correction1 = 1 - beta1^step and correction2 = 1 - beta2^step.
struct AdamWUpdate {
    device::Tensor parameter;      // any shape
    device::ConstTensor gradient;  // shape of the parameter; if both are contiguous, equal sizes suffice
    device::Tensor moment1;        // shape: as for the gradient
    device::Tensor moment2;        // shape: as for the gradient
    double gradient_scale = 1;
    double rate = 0;  // learning rate
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
    std::size_t step = 1;  // number of this update, from 1
    device::ConstTensor decay_mask =
        {};  // (columns) i32: 1 if the column has weight decay, else 0; if absent, all columns decay
    device::Tensor rounded_parameter = {};  // bf16: the new parameter, rounded; or absent

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// SGD with momentum:
//   g         = gradient_scale * gradient + weight_decay * parameter
//   velocity  = momentum * velocity + g        (velocity = g if the velocity tensor is absent)
//   parameter = parameter - rate * velocity
struct SgdUpdate {
    device::Tensor parameter;      // any shape
    device::ConstTensor gradient;  // shape of the parameter; if both are contiguous, equal sizes suffice
    device::Tensor velocity = {};  // shape: as for the gradient; absent without momentum
    double gradient_scale = 1;
    double rate = 0;  // learning rate
    double momentum = 0;
    double weight_decay = 0;
    device::ConstTensor decay_mask = {};    // (columns) i32, as in AdamWUpdate
    device::Tensor rounded_parameter = {};  // bf16, as in AdamWUpdate

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// result[0] = sum of the squared elements of input, added in double. The order of the additions depends only on
// the size of the tensor and, if the tensor is not contiguous, on its number of rows.
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

// Each function executes all operations in one launch. The operations may differ only in their tensors and in
// weight_decay.
void run(device::CudaStream& stream, std::span<const AdamWUpdate> ops);
void run(device::CudaStream& stream, std::span<const SgdUpdate> ops);
void run(device::CudaStream& stream, std::span<const SumOfSquares> ops);

inline void run(device::CudaStream& stream, const AdamWUpdate& op) { run(stream, std::span(&op, 1)); }
inline void run(device::CudaStream& stream, const SgdUpdate& op) { run(stream, std::span(&op, 1)); }
inline void run(device::CudaStream& stream, const SumOfSquares& op) { run(stream, std::span(&op, 1)); }

}  // namespace trireme::kernels
