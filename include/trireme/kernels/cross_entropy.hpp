// Softmax cross-entropy of one tile of logits. The caller divides the rows of a micro-batch into tiles, so that
// only the logits of one tile are in memory at a time.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

inline constexpr std::int32_t no_target = -1;  // marks a row that does not contribute to the loss

// losses[r] = log(sum exp(logits[r])) - (1 - smoothing) logits[r, targets[r]] - smoothing * mean(logits[r]),
// or 0 if the row has no target. (Label smoothing: Szegedy et al., 2016, section 7)
// If `gradient_scale` is not 0, the logits are overwritten with gradient_scale * d losses[r] / d logits[r].
struct CrossEntropy {
    device::Tensor logits;        // (rows, vocabulary); in: logits, out: gradients
    device::ConstTensor targets;  // (rows) i32: column of the target, or no_target
    device::Tensor losses;        // (rows) f64
    device::Tensor choices = {};  // (rows) i32: first column with the largest logit; or absent
    double gradient_scale = 0;
    double smoothing = 0;  // in [0, 1)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const CrossEntropy& op);
void run(device::CpuStream& stream, const CrossEntropy& op);
void run(device::CudaStream& stream, const CrossEntropy& op);

}  // namespace trireme::kernels
