// Cross-entropy over a vocabulary whose columns are shared by several ranks: each says what it knows of its own
// columns, all merge what they were told, and each makes the gradients of its own. (Shoeybi et al., 2019,
// section 3)
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// What a rank says of a row, in this order. A rank that does not have the target's column says 0 of it; a row
// without target is no_target.
namespace logit_field {
enum : std::size_t {
    largest,       // logit
    choice,        // the column of it, counted over the whole vocabulary; the first of equal ones
    exp_sum,       // of exp(logit - largest)
    sum,           // of the logits
    target_logit,  // or 0
    count
};
}

struct LogitStatistics {
    device::ConstTensor logits;    // (rows, own columns)
    device::ConstTensor targets;   // (rows) i32, columns of the whole vocabulary
    device::Tensor statistics;     // (rows, logit_field::count) f64
    std::size_t first_column = 0;  // of the own columns in the whole vocabulary

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// log_sums[r] = log(sum exp(logits[r])) over all columns; losses and choices as CrossEntropy gives them.
struct MergeLogitStatistics {
    device::ConstTensor parts;    // (ranks * rows, logit_field::count) f64: all rows of rank 0, of rank 1, ...
    device::ConstTensor targets;  // (rows) i32
    device::Tensor log_sums;      // (rows) f64
    device::Tensor losses;        // (rows) f64
    device::Tensor choices = {};  // (rows) i32, or absent
    std::size_t columns = 0;      // of the whole vocabulary
    double smoothing = 0;         // in [0, 1)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// Overwrites the logits with gradient_scale * d losses[r] / d logits[r].
struct LogitGradients {
    device::Tensor logits;         // (rows, own columns); in: logits, out: gradients
    device::ConstTensor targets;   // (rows) i32
    device::ConstTensor log_sums;  // (rows) f64
    std::size_t first_column = 0;  // of the own columns in the whole vocabulary
    std::size_t columns = 0;       // of the whole vocabulary
    double gradient_scale = 0;
    double smoothing = 0;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const LogitStatistics& op);
void run(device::ReferenceStream& stream, const MergeLogitStatistics& op);
void run(device::ReferenceStream& stream, const LogitGradients& op);
void run(device::CpuStream& stream, const LogitStatistics& op);
void run(device::CpuStream& stream, const MergeLogitStatistics& op);
void run(device::CpuStream& stream, const LogitGradients& op);
void run(device::CudaStream& stream, const LogitStatistics& op);
void run(device::CudaStream& stream, const MergeLogitStatistics& op);
void run(device::CudaStream& stream, const LogitGradients& op);

}  // namespace trireme::kernels
