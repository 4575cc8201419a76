#include "trireme/kernels/logit_statistics.hpp"

#include <algorithm>

#include "kernels/cpu/logit_row.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"
#include "kernels/logit_merge.hpp"

namespace trireme::kernels {
namespace {

// Returns the target's column in the rank's part; it is beyond the part if another rank holds it or there is no
// target.
std::size_t column_of(std::int32_t target, std::size_t first_column) {
    return static_cast<std::size_t>(target) - first_column;
}

// The search for the largest logit loads the row into the cache for the other passes.
template <class T>
void describe_row(const LogitStatistics& op, const T* x, std::int32_t target, double* statistics) {
    const std::size_t columns = op.logits.columns;
    const std::size_t place = column_of(target, op.first_column);
    const T shift = cpu::largest(x, columns);
    const std::size_t choice = op.first_column + cpu::first_column_of(x, columns, shift);
    const double shifts = static_cast<double>(columns) * static_cast<double>(shift);
    statistics[logit_field::largest] = static_cast<double>(shift);
    statistics[logit_field::choice] = static_cast<double>(choice);
    statistics[logit_field::exp_sum] = cpu::exponential_sum<false, T>(x, columns, shift);
    statistics[logit_field::sum] = shifts + cpu::shifted_sum(x, columns, shift);
    statistics[logit_field::target_logit] = place < columns ? static_cast<double>(x[place]) : 0;
}

// Overwrites x with the gradient. Subtracts log_sum in two steps, because a single float would lose digits of a
// large log_sum that matter for the probabilities.
template <class T>
void differentiate_row(const LogitGradients& op, T* x, std::int32_t target, double log_sum) {
    const std::size_t columns = op.logits.columns;
    const std::size_t place = column_of(target, op.first_column);
    const T high = static_cast<T>(log_sum);
    const T low = static_cast<T>(log_sum - static_cast<double>(high));
    const T factor = static_cast<T>(op.gradient_scale);
    const T everyone = static_cast<T>(op.gradient_scale * op.smoothing / static_cast<double>(op.columns));
#pragma omp simd
    for (std::size_t c = 0; c < columns; ++c) x[c] = cpu::exponential(x[c] - high - low) * factor - everyone;
    if (place < columns) x[place] -= static_cast<T>(op.gradient_scale * (1 - op.smoothing));
}

template <class T>
void describe(int threads, const LogitStatistics& op) {
    const auto logits = op.logits.as<T>();
    const std::int32_t* targets = op.targets.as<std::int32_t>().data;
    const auto statistics = op.statistics.as<double>();
    cpu::for_each_rows(threads, logits.rows, logits.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            describe_row(op, logits.row(r), targets[r], statistics.row(r));
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
    visit_float(op.logits.dtype, [&](auto zero) { describe<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream&, const MergeLogitStatistics& op) { run_merge(op); }

void run(device::CpuStream& stream, const LogitGradients& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) { differentiate<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
