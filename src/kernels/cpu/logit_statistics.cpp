#include "trireme/kernels/logit_statistics.hpp"

#include <algorithm>

#include "kernels/cpu/logit_row.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"
#include "kernels/logit_merge.hpp"

namespace trireme::kernels {
namespace {

// Returns the index of the target's column among this rank's columns. The index is beyond the last column if
// another rank holds the target's column or if there is no target.
std::size_t find_target_column(std::int32_t target, std::size_t first_column) {
    return static_cast<std::size_t>(target) - first_column;
}

// Computes the statistics of row x over the columns of this rank. The search for the largest logit loads the
// row into the cache, where the other passes read it.
template <class T>
void compute_row_statistics(const LogitStatistics& op, const T* x, std::int32_t target, double* statistics) {
    const std::size_t columns = op.logits.columns;
    const std::size_t target_column = find_target_column(target, op.first_column);
    const T shift = cpu::find_largest(x, columns);
    const std::size_t argmax = op.first_column + cpu::find_first_column(x, columns, shift);
    const double shift_sum = static_cast<double>(columns) * static_cast<double>(shift);
    statistics[logit_field::largest_logit] = static_cast<double>(shift);
    statistics[logit_field::argmax] = static_cast<double>(argmax);
    statistics[logit_field::exp_sum] = cpu::compute_exponential_sum<false, T>(x, columns, shift);
    statistics[logit_field::logit_sum] = shift_sum + cpu::compute_shifted_sum(x, columns, shift);
    statistics[logit_field::target_logit] = target_column < columns ? static_cast<double>(x[target_column]) : 0;
}

// Overwrites the logits x of this rank with op.gradient_scale times the gradient of the loss. op.columns is the
// size of the whole vocabulary. Subtracts log_sum in two steps, because the probabilities depend on digits of a
// large log_sum that a single float would lose.
template <class T>
void differentiate_row(const LogitGradients& op, T* x, std::int32_t target, double log_sum) {
    const std::size_t columns = op.logits.columns;
    const std::size_t target_column = find_target_column(target, op.first_column);
    const T high = static_cast<T>(log_sum);
    const T low = static_cast<T>(log_sum - static_cast<double>(high));
    const T factor = static_cast<T>(op.gradient_scale);
    const T smoothing_term = static_cast<T>(op.gradient_scale * op.smoothing / static_cast<double>(op.columns));
#pragma omp simd
    for (std::size_t c = 0; c < columns; ++c)
        x[c] = cpu::exponential(x[c] - high - low) * factor - smoothing_term;
    if (target_column < columns) x[target_column] -= static_cast<T>(op.gradient_scale * (1 - op.smoothing));
}

template <class T>
void compute_statistics(int threads, const LogitStatistics& op) {
    const auto logits = op.logits.as<T>();
    const std::int32_t* targets = op.targets.as<std::int32_t>().data;
    const auto statistics = op.statistics.as<double>();
    cpu::for_each_rows(threads, logits.rows, logits.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            compute_row_statistics(op, logits.row(r), targets[r], statistics.row(r));
        }
    });
}

template <class T>
void differentiate(int threads, const LogitGradients& op) {
    const auto logits = op.logits.as<T>();
    const std::int32_t* targets = op.targets.as<std::int32_t>().data;
    const double* log_sums = op.log_sums.as<double>().data;
    cpu::for_each_rows(threads, logits.rows, logits.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            if (targets[r] == no_target) {
                std::fill_n(logits.row(r), logits.columns, T{0});
            } else {
                differentiate_row(op, logits.row(r), targets[r], log_sums[r]);
            }
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const LogitStatistics& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) { compute_statistics<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream&, const MergeLogitStatistics& op) { merge_logit_statistics(op); }

void run(device::CpuStream& stream, const LogitGradients& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) { differentiate<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
