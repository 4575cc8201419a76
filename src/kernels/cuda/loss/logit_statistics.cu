// One block per row of logits; for the merge of the ranks' statistics, one thread per row.
#include "kernels/cuda/loss/logit_row.cuh"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/logit_statistics.hpp"

namespace trireme::kernels {
namespace {

using gpu::Wide;

template <class T>
struct Statistics {
    device::Elements<const T> logits;
    const std::int32_t* targets;
    device::Elements<double> statistics;
    std::size_t first_column;
};

template <class T>
__global__ void __launch_bounds__(gpu::most_row_threads) describe(Statistics<T> op) {
    using W = Wide<T>;
    const T* const x = op.logits.row(blockIdx.x);
    const auto columns = static_cast<unsigned>(op.logits.columns);
    const W pivot = gpu::pivot_of(x);
    const gpu::LogitSums<W> sums = gpu::sums_of_row(x, columns, pivot);
    if (threadIdx.x != 0) return;
    const unsigned place = gpu::column_of(op.targets[blockIdx.x], op.first_column, columns);
    double* const statistics = op.statistics.row(blockIdx.x);
    statistics[logit_field::largest] = static_cast<double>(sums.largest);
    statistics[logit_field::choice] = static_cast<double>(op.first_column + sums.choice);
    statistics[logit_field::exp_sum] = static_cast<double>(sums.exp_sum);
    statistics[logit_field::sum] = columns * static_cast<double>(pivot) + static_cast<double>(sums.distances);
    statistics[logit_field::target_logit] = place < columns ? static_cast<double>(static_cast<W>(x[place])) : 0;
}

struct Merge {
    device::Elements<const double> parts;
    device::Elements<const std::int32_t> targets;
    double* log_sums;
    double* losses;
    std::int32_t* choices;  // or nullptr
    std::size_t columns;
    double smoothing;
};

// Returns the part with the largest logit. The ranks hold the columns in ascending order, so of equally large
// logits the one of the lowest rank is the first.
__device__ std::size_t best_part(const Merge& op, std::size_t r) {
    std::size_t best = r;
    for (std::size_t part = r; part < op.parts.rows; part += op.targets.columns) {
        if (op.parts(part, logit_field::largest) > op.parts(best, logit_field::largest)) best = part;
    }
    return best;
}

// Uses differences from the largest logit, which keep precision if all logits are large. A target beyond the
// vocabulary makes the loss NaN; other backends throw.
__device__ void merge_row(const Merge& op, std::size_t r) {
    const std::size_t best = best_part(op, r);
    const double largest = op.parts(best, logit_field::largest);
    double exp_sum = 0;
    double sum = 0;
    double target_logit =
        op.targets[r] < static_cast<std::int64_t>(op.columns) ? 0 : std::numeric_limits<double>::quiet_NaN();
    for (std::size_t part = r; part < op.parts.rows; part += op.targets.columns) {
        const double distance = op.parts(part, logit_field::largest) - largest;
        exp_sum += op.parts(part, logit_field::exp_sum) * std::exp(distance);
        sum += op.parts(part, logit_field::sum);
        target_logit += op.parts(part, logit_field::target_logit);
    }
    double right = (1 - op.smoothing) * (target_logit - largest);
    if (op.smoothing > 0) right += op.smoothing * (sum / static_cast<double>(op.columns) - largest);
    op.log_sums[r] = largest + std::log(exp_sum);
    op.losses[r] = op.targets[r] == no_target ? 0 : std::log(exp_sum) - right;
    if (op.choices != nullptr) {
        op.choices[r] = static_cast<std::int32_t>(op.parts(best, logit_field::choice));
    }
}

constexpr unsigned merge_threads = 256;

__global__ void __launch_bounds__(merge_threads) merge_rows(Merge op) {
    const std::size_t r = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (r < op.targets.columns) merge_row(op, r);
}

template <class T>
struct Gradients {
    device::Elements<T> logits;
    const std::int32_t* targets;
    const double* log_sums;
    std::size_t first_column;
    Wide<T> factor;
    Wide<T> everyone;
    Wide<T> right;
};

// Subtracts log_sum in two steps, because a single float would lose digits of a large log_sum that matter for
// the probabilities.
template <class T>
__global__ void __launch_bounds__(gpu::most_row_threads) differentiate(Gradients<T> op) {
    using W = Wide<T>;
    T* const x = op.logits.row(blockIdx.x);
    const auto columns = static_cast<unsigned>(op.logits.columns);
    const std::int32_t target = op.targets[blockIdx.x];
    if (target == no_target) return gpu::write_zeros(x, columns);
    const double log_sum = op.log_sums[blockIdx.x];
    const W high = static_cast<W>(log_sum);
    const W low = static_cast<W>(log_sum - static_cast<double>(high));
    gpu::write_gradient<T>(x, columns, gpu::column_of(target, op.first_column, columns),
                           {high, low, op.factor, op.everyone, op.right});
}

}  // namespace

void run(device::CudaStream& stream, const LogitStatistics& op) {
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        const Statistics<T> statistics{.logits = gpu::elements<T>(op.logits),
                                       .targets = gpu::elements<std::int32_t>(op.targets).data,
                                       .statistics = gpu::elements<double>(op.statistics),
                                       .first_column = op.first_column};
        gpu::start(stream, gpu::block_a_row_of_logits(op.logits.rows, op.logits.columns), describe<T>,
                   statistics);
    });
}

void run(device::CudaStream& stream, const MergeLogitStatistics& op) {
    const Merge merge{
        .parts = gpu::elements<double>(op.parts),
        .targets = gpu::elements<std::int32_t>(op.targets),
        .log_sums = gpu::elements<double>(op.log_sums).data,
        .losses = gpu::elements<double>(op.losses).data,
        .choices = op.choices.is_present() ? gpu::elements<std::int32_t>(op.choices).data : nullptr,
        .columns = op.columns,
        .smoothing = op.smoothing};
    const unsigned blocks = gpu::blocks_for(op.targets.columns, merge_threads);
    gpu::start(stream, {.blocks_x = blocks, .threads = merge_threads}, merge_rows, merge);
}

void run(device::CudaStream& stream, const LogitGradients& op) {
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        using W = Wide<T>;
        const double everyone = op.gradient_scale * op.smoothing / static_cast<double>(op.columns);
        const Gradients<T> gradients{.logits = gpu::elements<T>(op.logits),
                                     .targets = gpu::elements<std::int32_t>(op.targets).data,
                                     .log_sums = gpu::elements<double>(op.log_sums).data,
                                     .first_column = op.first_column,
                                     .factor = static_cast<W>(op.gradient_scale),
                                     .everyone = static_cast<W>(everyone),
                                     .right = static_cast<W>(op.gradient_scale * (1 - op.smoothing))};
        gpu::start(stream, gpu::block_a_row_of_logits(op.logits.rows, op.logits.columns), differentiate<T>,
                   gradients);
    });
}

}  // namespace trireme::kernels
