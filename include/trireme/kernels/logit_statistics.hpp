// Cross-entropy over a vocabulary whose columns are split across the ranks of a tensor group. Each rank
// computes statistics of its own columns, the ranks all-gather the statistics, each rank merges them, and each
// rank computes the gradients of its own columns. The operations themselves do not communicate. (Shoeybi et
// al., 2019, section 3)
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// Columns of the statistics that a rank computes for a row.
namespace logit_field {
enum : std::size_t {
    largest_logit,
    argmax,        // first column with the largest logit, as a column of the whole vocabulary
    exp_sum,       // sum of exp(logit - largest_logit)
    logit_sum,     // sum of the logits
    target_logit,  // logit of the target; 0 on ranks without its column, since all ranks' values are added
    count          // number of statistics
};
}

// Computes the statistics of the rank's own columns for each row.
struct LogitStatistics {
    device::ConstTensor logits;    // (rows, columns of this rank)
    device::ConstTensor targets;   // (rows) i32: columns of the whole vocabulary, or no_target
    device::Tensor statistics;     // (rows, logit_field::count) f64
    std::size_t first_column = 0;  // index of the rank's first column in the whole vocabulary

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// log_sums[r] = log(sum exp(logits[r])) over the whole vocabulary. `losses` and `choices` are defined as in
// CrossEntropy.
struct MergeLogitStatistics {
    device::ConstTensor rank_statistics;  // (ranks * rows, logit_field::count) f64; rank by rank
    device::ConstTensor targets;          // (rows) i32: columns of the whole vocabulary, or no_target
    device::Tensor log_sums;              // (rows) f64
    device::Tensor losses;                // (rows) f64
    device::Tensor choices = {};          // (rows) i32, or absent
    std::size_t columns = 0;              // size of the whole vocabulary
    double smoothing = 0;                 // in [0, 1)

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// Overwrites the logits with gradient_scale * d losses[r] / d logits[r].
struct LogitGradients {
    device::Tensor logits;         // (rows, columns of this rank); in: logits, out: gradients
    device::ConstTensor targets;   // (rows) i32: columns of the whole vocabulary, or no_target
    device::ConstTensor log_sums;  // (rows) f64, from MergeLogitStatistics
    std::size_t first_column = 0;  // index of the rank's first column in the whole vocabulary
    std::size_t columns = 0;       // size of the whole vocabulary
    double gradient_scale = 0;
    double smoothing = 0;  // in [0, 1)

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
