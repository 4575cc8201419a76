// One block of threads processes a row of logits. One thread per row merges the statistics of all ranks.
#include "kernels/cuda/loss/logit_row.cuh"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/logit_statistics.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;

template <class T>
struct StatisticsCall {
    device::Elements<const T> logits;
    const std::int32_t* targets;
    device::Elements<double> statistics;
    std::size_t first_column;
};

template <class T>
__global__ void __launch_bounds__(gpu::max_row_threads) compute_statistics(StatisticsCall<T> op) {
    using W = Accumulator<T>;
    const T* const x = op.logits.row(blockIdx.x);
    const auto columns = static_cast<unsigned>(op.logits.columns);
    const W pivot = gpu::choose_pivot(x);
    const gpu::LogitSums<W> sums = gpu::compute_row_sums(x, columns, pivot);
    if (threadIdx.x != 0) return;
    const unsigned target_column = gpu::find_target_column(op.targets[blockIdx.x], op.first_column, columns);
    double* const statistics = op.statistics.row(blockIdx.x);
    statistics[logit_field::largest_logit] = static_cast<double>(sums.largest);
    statistics[logit_field::argmax] = static_cast<double>(op.first_column + sums.argmax);
    statistics[logit_field::exp_sum] = static_cast<double>(sums.exp_sum);
    statistics[logit_field::logit_sum] =
        columns * static_cast<double>(pivot) + static_cast<double>(sums.distance_sum);
    statistics[logit_field::target_logit] =
        target_column < columns ? static_cast<double>(static_cast<W>(x[target_column])) : 0;
}

struct MergeCall {
    device::Elements<const double> rank_statistics;  // one row per rank and logit row: all rows of rank 0 first
    device::Elements<const std::int32_t> targets;    // one row, with one column per logit row
    double* log_sums;                                // per logit row: log(sum of exp(logit))
    double* losses;
    std::int32_t* choices;  // per logit row: argmax of the logits; nullptr if not requested
    std::size_t columns;    // of the whole vocabulary
    double smoothing;
};

// Returns the row of op.rank_statistics with the largest logit for logit row r. The ranks hold the columns in
// ascending order, so if several ranks have the largest logit, the lowest of these ranks holds the first column
// with this logit.
__device__ std::size_t find_best_rank_row(const MergeCall& op, std::size_t r) {
    std::size_t best = r;
    for (std::size_t rank_row = r; rank_row < op.rank_statistics.rows; rank_row += op.targets.columns) {
        if (op.rank_statistics(rank_row, logit_field::largest_logit) >
            op.rank_statistics(best, logit_field::largest_logit))
            best = rank_row;
    }
    return best;
}

// Subtracts the largest logit from all logits, which keeps precision if all logits are large. A target beyond
// the vocabulary makes the loss NaN; other backends throw.
__device__ void merge_row(const MergeCall& op, std::size_t r) {
    const std::size_t best = find_best_rank_row(op, r);
    const double largest = op.rank_statistics(best, logit_field::largest_logit);
    double exp_sum = 0;
    double sum = 0;
    double target_logit =
        op.targets[r] < static_cast<std::int64_t>(op.columns) ? 0 : std::numeric_limits<double>::quiet_NaN();
    for (std::size_t rank_row = r; rank_row < op.rank_statistics.rows; rank_row += op.targets.columns) {
        const double distance = op.rank_statistics(rank_row, logit_field::largest_logit) - largest;
        exp_sum += op.rank_statistics(rank_row, logit_field::exp_sum) * std::exp(distance);
        sum += op.rank_statistics(rank_row, logit_field::logit_sum);
        target_logit += op.rank_statistics(rank_row, logit_field::target_logit);
    }
    double weighted_logits = (1 - op.smoothing) * (target_logit - largest);
    if (op.smoothing > 0) weighted_logits += op.smoothing * (sum / static_cast<double>(op.columns) - largest);
    op.log_sums[r] = largest + std::log(exp_sum);
    op.losses[r] = op.targets[r] == no_target ? 0 : std::log(exp_sum) - weighted_logits;
    if (op.choices != nullptr) {
        op.choices[r] = static_cast<std::int32_t>(op.rank_statistics(best, logit_field::argmax));
    }
}

constexpr unsigned merge_threads = 256;

__global__ void __launch_bounds__(merge_threads) merge_rows(MergeCall op) {
    const std::size_t r = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (r < op.targets.columns) merge_row(op, r);
}

template <class T>
struct GradientsCall {
    device::Elements<T> logits;
    const std::int32_t* targets;
    const double* log_sums;
    std::size_t first_column;
    Accumulator<T> factor;
    Accumulator<T> smoothing_term;
    Accumulator<T> target_term;
};

// Subtracts log_sum in two steps, because the probabilities depend on digits of a large log_sum that a single
// float would lose.
template <class T>
__global__ void __launch_bounds__(gpu::max_row_threads) differentiate(GradientsCall<T> op) {
    using W = Accumulator<T>;
    T* const x = op.logits.row(blockIdx.x);
    const auto columns = static_cast<unsigned>(op.logits.columns);
    const std::int32_t target = op.targets[blockIdx.x];
    if (target == no_target) return gpu::write_zeros(x, columns);
    const double log_sum = op.log_sums[blockIdx.x];
    const W high = static_cast<W>(log_sum);
    const W low = static_cast<W>(log_sum - static_cast<double>(high));
    gpu::write_gradient<T>(x, columns, gpu::find_target_column(target, op.first_column, columns),
                           {high, low, op.factor, op.smoothing_term, op.target_term});
}

}  // namespace

void run(device::CudaStream& stream, const LogitStatistics& op) {
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        const StatisticsCall<T> statistics{.logits = gpu::get_elements<T>(op.logits),
                                           .targets = gpu::get_elements<std::int32_t>(op.targets).data,
                                           .statistics = gpu::get_elements<double>(op.statistics),
                                           .first_column = op.first_column};
        gpu::launch_kernel(stream, gpu::make_logit_grid(op.logits.rows, op.logits.columns),
                           compute_statistics<T>, statistics);
    });
}

void run(device::CudaStream& stream, const MergeLogitStatistics& op) {
    const MergeCall call{
        .rank_statistics = gpu::get_elements<double>(op.rank_statistics),
        .targets = gpu::get_elements<std::int32_t>(op.targets),
        .log_sums = gpu::get_elements<double>(op.log_sums).data,
        .losses = gpu::get_elements<double>(op.losses).data,
        .choices = op.choices.is_present() ? gpu::get_elements<std::int32_t>(op.choices).data : nullptr,
        .columns = op.columns,
        .smoothing = op.smoothing};
    const unsigned blocks = gpu::count_blocks(op.targets.columns, merge_threads);
    gpu::launch_kernel(stream, {.blocks_x = blocks, .threads = merge_threads}, merge_rows, call);
}

void run(device::CudaStream& stream, const LogitGradients& op) {
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        using W = Accumulator<T>;
        const double smoothing_term = op.gradient_scale * op.smoothing / static_cast<double>(op.columns);
        const GradientsCall<T> gradients{.logits = gpu::get_elements<T>(op.logits),
                                         .targets = gpu::get_elements<std::int32_t>(op.targets).data,
                                         .log_sums = gpu::get_elements<double>(op.log_sums).data,
                                         .first_column = op.first_column,
                                         .factor = static_cast<W>(op.gradient_scale),
                                         .smoothing_term = static_cast<W>(smoothing_term),
                                         .target_term = static_cast<W>(op.gradient_scale * (1 - op.smoothing))};
        gpu::launch_kernel(stream, gpu::make_logit_grid(op.logits.rows, op.logits.columns), differentiate<T>,
                           gradients);
    });
}

}  // namespace trireme::kernels
