#include <algorithm>
#include <cmath>

#include "kernels/cpu/logit_row.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"
#include "kernels/span_rows.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/span_loss.hpp"

namespace trireme::kernels {
namespace {

// Returns the loss of a row x of logits. If op.gradient_scale is not 0, overwrites x with op.gradient_scale
// times the gradient of the loss. `shift` is the largest logit of the row. The caller searches for it just
// before the call, so that the row is still in the cache.
template <class T>
double compute_row_loss(const CrossEntropy& op, T* x, std::size_t target, T shift) {
    const std::size_t columns = op.logits.columns;
    const double smoothing_per_column = op.smoothing / static_cast<double>(columns);
    double weighted_logits = (1 - op.smoothing) * (static_cast<double>(x[target]) - static_cast<double>(shift));
    if (op.smoothing > 0) weighted_logits += smoothing_per_column * cpu::compute_shifted_sum(x, columns, shift);
    if (op.gradient_scale == 0)
        return std::log(cpu::compute_exponential_sum<false, T>(x, columns, shift)) - weighted_logits;
    const double sum = cpu::compute_exponential_sum<true, T>(x, columns, shift);
    const T factor = static_cast<T>(op.gradient_scale / sum);
    const T smoothing_term = static_cast<T>(op.gradient_scale * smoothing_per_column);
#pragma omp simd
    for (std::size_t c = 0; c < columns; ++c) x[c] = x[c] * factor - smoothing_term;
    x[target] -= static_cast<T>(op.gradient_scale * (1 - op.smoothing));
    return std::log(sum) - weighted_logits;
}

template <class T>
void compute_cross_entropy(int threads, const CrossEntropy& op) {
    const auto logits = op.logits.as<T>();
    const std::int32_t* targets = op.targets.as<std::int32_t>().data;
    double* losses = op.losses.as<double>().data;
    // per row: first column with the largest logit; null if not requested
    std::int32_t* choices = op.choices.is_present() ? op.choices.as<std::int32_t>().data : nullptr;
    const auto process_row = [&](std::size_t r) {
        T* x = logits.row(r);
        const bool has_target = targets[r] != no_target;
        const T shift = has_target || choices != nullptr ? cpu::find_largest(x, logits.columns) : T{0};
        if (choices != nullptr) {
            choices[r] = static_cast<std::int32_t>(cpu::find_first_column(x, logits.columns, shift));
        }
        losses[r] = has_target ? compute_row_loss(op, x, static_cast<std::size_t>(targets[r]), shift) : 0;
        if (!has_target && op.gradient_scale != 0) std::fill_n(x, logits.columns, T{0});
    };
    cpu::for_each_rows(threads, logits.rows, logits.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) process_row(r);
    });
}

}  // namespace

void run(device::CpuStream& stream, const CrossEntropy& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) { compute_cross_entropy<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream&, const SpanLoss& op) { run_spans(op); }

void run(device::CpuStream&, const BestSpan& op) { run_spans(op); }

}  // namespace trireme::kernels
