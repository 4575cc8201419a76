// Turns image patches into tokens: a class token, then one row per patch, with position embeddings added.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// With P patches per image, output rows i * (P + 1) to i * (P + 1) + P belong to image i:
//   output[i * (P + 1)]         = class_token + position_table[0]
//   output[i * (P + 1) + 1 + p] = patches[i * P + p] + position_table[1 + p]
struct ImageRows {
    device::ConstTensor patches;         // (images * P, channels)
    device::ConstTensor class_token;     // (channels)
    device::ConstTensor position_table;  // (P + 1, channels)
    device::Tensor output;               // (images * (P + 1), channels)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// The gradients of ImageRows. Overwrites grad_patches. Adds to grad_class_token and grad_position_table, in the
// order of the images.
struct ImageRowsBackward {
    device::ConstTensor grad_output;     // (images * (P + 1), channels)
    device::Tensor grad_patches;         // (images * P, channels)
    device::Tensor grad_class_token;     // (channels)
    device::Tensor grad_position_table;  // (P + 1, channels)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const ImageRows& op);
void run(device::ReferenceStream& stream, const ImageRowsBackward& op);
void run(device::CpuStream& stream, const ImageRows& op);
void run(device::CpuStream& stream, const ImageRowsBackward& op);
void run(device::CudaStream& stream, const ImageRows& op);
void run(device::CudaStream& stream, const ImageRowsBackward& op);

}  // namespace trireme::kernels
