// Normalisation over the channels of each row: by mean and variance (Ba et al., 2016), or by the root of the
// mean square alone (Zhang and Sennrich, 2019).
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// output[r, c] = (input[r, c] - mean[r]) * inv_std[r] * gain[c] + bias[c]
struct LayerNorm {
    ConstTensor input;  // (rows, channels)
    ConstTensor gain;   // (channels)
    ConstTensor bias;   // (channels)
    Tensor output;      // (rows, channels)
    Tensor mean;        // (rows) as a vector, kept for the backward pass
    Tensor inv_std;     // (rows) as a vector, kept for the backward pass
    double epsilon = 1e-5;
    ResidualAdd sum = {};  // that the input is, and is made along with this; or absent

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = d loss / d input, plus `residual`, the gradient that passes the norm by, if there is one.
// `residual` may be the same memory as `grad_input`.
struct LayerNormBackwardInput {
    ConstTensor input;          // (rows, channels)
    ConstTensor gain;           // (channels)
    ConstTensor mean;           // (rows)
    ConstTensor inv_std;        // (rows)
    ConstTensor grad_output;    // (rows, channels)
    ConstTensor residual = {};  // (rows, channels), or absent
    Tensor grad_input;          // (rows, channels)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// grad_gain += sum over rows of grad_output * normalised input; grad_bias += sum over rows of grad_output
struct LayerNormBackwardWeight {
    ConstTensor input;        // (rows, channels)
    ConstTensor mean;         // (rows)
    ConstTensor inv_std;      // (rows)
    ConstTensor grad_output;  // (rows, channels)
    Tensor grad_gain;         // (channels)
    Tensor grad_bias;         // (channels)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// output[r, c] = input[r, c] * inv_rms[r] * gain[c],  inv_rms[r] = 1 / sqrt(mean over c of input[r, c]^2 +
// epsilon)
struct RmsNorm {
    ConstTensor input;  // (rows, channels)
    ConstTensor gain;   // (channels)
    Tensor output;      // (rows, channels)
    Tensor inv_rms;     // (rows) as a vector, kept for the backward pass
    double epsilon = 1e-6;
    ResidualAdd sum = {};  // as of LayerNorm

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// As LayerNormBackwardInput.
struct RmsNormBackwardInput {
    ConstTensor input;          // (rows, channels)
    ConstTensor gain;           // (channels)
    ConstTensor inv_rms;        // (rows)
    ConstTensor grad_output;    // (rows, channels)
    ConstTensor residual = {};  // (rows, channels), or absent
    Tensor grad_input;          // (rows, channels)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// grad_gain += sum over rows of grad_output * normalised input
struct RmsNormBackwardWeight {
    ConstTensor input;        // (rows, channels)
    ConstTensor inv_rms;      // (rows)
    ConstTensor grad_output;  // (rows, channels)
    Tensor grad_gain;         // (channels)

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// Whether the sum that a norm reads gains by being made along with it. Elsewhere each of them has a time of its
// own.
bool joins_sum(const Stream& stream);

void run(ReferenceStream& stream, const LayerNorm& op);
void run(ReferenceStream& stream, const LayerNormBackwardInput& op);
void run(ReferenceStream& stream, const LayerNormBackwardWeight& op);
void run(CpuStream& stream, const LayerNorm& op);
void run(CpuStream& stream, const LayerNormBackwardInput& op);
void run(CpuStream& stream, const LayerNormBackwardWeight& op);
void run(ReferenceStream& stream, const RmsNorm& op);
void run(ReferenceStream& stream, const RmsNormBackwardInput& op);
void run(ReferenceStream& stream, const RmsNormBackwardWeight& op);
void run(CpuStream& stream, const RmsNorm& op);
void run(CpuStream& stream, const RmsNormBackwardInput& op);
void run(CpuStream& stream, const RmsNormBackwardWeight& op);
void run(CudaStream& stream, const LayerNorm& op);
void run(CudaStream& stream, const LayerNormBackwardInput& op);
void run(CudaStream& stream, const LayerNormBackwardWeight& op);
void run(CudaStream& stream, const RmsNorm& op);
void run(CudaStream& stream, const RmsNormBackwardInput& op);
void run(CudaStream& stream, const RmsNormBackwardWeight& op);

}  // namespace trireme
