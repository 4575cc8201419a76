// Normalisation over the channels of each row: LayerNorm uses the mean and the variance (Ba et al., 2016),
// RMSNorm only the root mean square (Zhang and Sennrich, 2019).
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// output[r, c] = (input[r, c] - mean[r]) * inv_std[r] * gain[c] + bias[c]
struct LayerNorm {
    device::ConstTensor input;  // (rows, channels)
    device::ConstTensor gain;   // (channels)
    device::ConstTensor bias;   // (channels)
    device::Tensor output;      // (rows, channels)
    device::Tensor mean;        // (rows), an input of the backward pass
    device::Tensor inv_std;     // (rows): 1 / sqrt(variance + epsilon), an input of the backward pass
    double epsilon = 1e-5;
    ResidualAdd fused_sum = {};  // if present, computed before the norm; the output of the sum must be `input`

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = d loss / d input, plus `residual` if present. `residual` is the gradient of the branch that
// bypasses the norm. `residual` may share memory with `grad_input`.
struct LayerNormBackwardInput {
    device::ConstTensor input;          // (rows, channels)
    device::ConstTensor gain;           // (channels)
    device::ConstTensor mean;           // (rows)
    device::ConstTensor inv_std;        // (rows)
    device::ConstTensor grad_output;    // (rows, channels)
    device::ConstTensor residual = {};  // (rows, channels), or absent
    device::Tensor grad_input;          // (rows, channels)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_gain += sum over rows of grad_output * normalised input; grad_bias += sum over rows of grad_output
struct LayerNormBackwardWeight {
    device::ConstTensor input;        // (rows, channels)
    device::ConstTensor mean;         // (rows)
    device::ConstTensor inv_std;      // (rows)
    device::ConstTensor grad_output;  // (rows, channels)
    device::Tensor grad_gain;         // (channels)
    device::Tensor grad_bias;         // (channels)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// output[r, c] = input[r, c] * inv_rms[r] * gain[c]
// inv_rms[r]   = 1 / sqrt(mean over c of input[r, c]^2 + epsilon)
struct RmsNorm {
    device::ConstTensor input;  // (rows, channels)
    device::ConstTensor gain;   // (channels)
    device::Tensor output;      // (rows, channels)
    device::Tensor inv_rms;     // (rows), an input of the backward pass
    double epsilon = 1e-6;
    ResidualAdd fused_sum = {};  // as in LayerNorm

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = d loss / d input, plus `residual` if present, as in LayerNormBackwardInput.
struct RmsNormBackwardInput {
    device::ConstTensor input;          // (rows, channels)
    device::ConstTensor gain;           // (channels)
    device::ConstTensor inv_rms;        // (rows)
    device::ConstTensor grad_output;    // (rows, channels)
    device::ConstTensor residual = {};  // (rows, channels), or absent
    device::Tensor grad_input;          // (rows, channels)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_gain += sum over rows of grad_output * normalised input
struct RmsNormBackwardWeight {
    device::ConstTensor input;        // (rows, channels)
    device::ConstTensor inv_rms;      // (rows)
    device::ConstTensor grad_output;  // (rows, channels)
    device::Tensor grad_gain;         // (channels)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// Returns true on a GPU: callers then fuse the residual sum that a norm reads into the norm. On other backends,
// callers launch the sum as an operation of its own, so that the work ledger has separate times of the sum and
// the norm.
bool fuses_residual_sum(const device::Stream& stream);

void run(device::ReferenceStream& stream, const LayerNorm& op);
void run(device::ReferenceStream& stream, const LayerNormBackwardInput& op);
void run(device::ReferenceStream& stream, const LayerNormBackwardWeight& op);
void run(device::CpuStream& stream, const LayerNorm& op);
void run(device::CpuStream& stream, const LayerNormBackwardInput& op);
void run(device::CpuStream& stream, const LayerNormBackwardWeight& op);
void run(device::ReferenceStream& stream, const RmsNorm& op);
void run(device::ReferenceStream& stream, const RmsNormBackwardInput& op);
void run(device::ReferenceStream& stream, const RmsNormBackwardWeight& op);
void run(device::CpuStream& stream, const RmsNorm& op);
void run(device::CpuStream& stream, const RmsNormBackwardInput& op);
void run(device::CpuStream& stream, const RmsNormBackwardWeight& op);
void run(device::CudaStream& stream, const LayerNorm& op);
void run(device::CudaStream& stream, const LayerNormBackwardInput& op);
void run(device::CudaStream& stream, const LayerNormBackwardWeight& op);
void run(device::CudaStream& stream, const RmsNorm& op);
void run(device::CudaStream& stream, const RmsNormBackwardInput& op);
void run(device::CudaStream& stream, const RmsNormBackwardWeight& op);

}  // namespace trireme::kernels
