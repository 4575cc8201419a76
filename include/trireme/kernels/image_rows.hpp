// Images as rows: a class token, then one row for each patch, each with its place added.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// With P patches an image, output rows i * (P + 1) ... belong to image i:
//   output[i * (P + 1)]         = class_token + place_table[0]
//   output[i * (P + 1) + 1 + p] = patches[i * P + p] + place_table[1 + p]
struct ImageRows {
    ConstTensor patches;      // (images * P, channels)
    ConstTensor class_token;  // (channels)
    ConstTensor place_table;  // (P + 1, channels)
    Tensor output;            // (images * (P + 1), channels)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// grad_patches is overwritten; the other two are added to, image after image.
struct ImageRowsBackward {
    ConstTensor grad_output;  // (images * (P + 1), channels)
    Tensor grad_patches;      // (images * P, channels)
    Tensor grad_class_token;  // (channels)
    Tensor grad_place_table;  // (P + 1, channels)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

void run(ReferenceStream& stream, const ImageRows& op);
void run(ReferenceStream& stream, const ImageRowsBackward& op);
void run(CpuStream& stream, const ImageRows& op);
void run(CpuStream& stream, const ImageRowsBackward& op);
void run(CudaStream& stream, const ImageRows& op);
void run(CudaStream& stream, const ImageRowsBackward& op);

}  // namespace trireme
