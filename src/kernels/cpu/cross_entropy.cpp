#include "trireme/kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"

namespace trireme {
namespace {

template <class T>
T largest(const T* x, std::size_t columns) {
    T most = std::numeric_limits<T>::lowest();
#pragma omp simd reduction(max : most)
    for (std::size_t c = 0; c < columns; ++c) most = x[c] > most ? x[c] : most;
    return most;
}

constexpr std::size_t sum_columns = 1024;  // added in T; such sums are added in double

// sum exp(x - shift); the terms replace x if `keep`.
template <bool keep, class T>
double exponential_sum(std::conditional_t<keep, T*, const T*> x, std::size_t columns, T shift) {
    double total = 0;
    for (std::size_t begin = 0; begin < columns; begin += sum_columns) {
        const std::size_t end = std::min(begin + sum_columns, columns);
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t c = begin; c < end; ++c) {
            const T term = cpu::exponential(x[c] - shift);
            if constexpr (keep) x[c] = term;
            sum += term;
        }
        total += static_cast<double>(sum);
    }
    return total;
}

// sum (x - shift): of small numbers, so that little is lost where all logits are large.
template <class T>
double shifted_sum(const T* x, std::size_t columns, T shift) {
    double total = 0;
    for (std::size_t begin = 0; begin < columns; begin += sum_columns) {
        const std::size_t end = std::min(begin + sum_columns, columns);
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t c = begin; c < end; ++c) sum += x[c] - shift;
        total += static_cast<double>(sum);
    }
    return total;
}

// The first column that holds `value`; 0 where none does, which NaNs can bring about.
template <class T>
std::size_t first_column_of(const T* x, std::size_t columns, T value) {
    constexpr std::size_t step = 256;  // looked at together, because a search that may end anywhere is slow
    for (std::size_t begin = 0; begin < columns; begin += step) {
        const std::size_t end = std::min(begin + step, columns);
        unsigned found = 0;
#pragma omp simd reduction(+ : found)
        for (std::size_t c = begin; c < end; ++c) found += x[c] == value ? 1U : 0U;
        if (found > 0) return static_cast<std::size_t>(std::find(x + begin, x + end, value) - x);
    }
    return 0;
}

// `shift` is the largest logit. Finding it brought the row into the cache, where the other passes find it.
template <class T>
double row_loss(const CrossEntropy& op, T* x, std::size_t target, T shift) {
    const std::size_t columns = op.logits.columns;
    const double share = op.smoothing / static_cast<double>(columns);  // of every column
    double right = (1 - op.smoothing) * (static_cast<double>(x[target]) - static_cast<double>(shift));
    if (op.smoothing > 0) right += share * shifted_sum(x, columns, shift);
    if (op.gradient_scale == 0) return std::log(exponential_sum<false, T>(x, columns, shift)) - right;
    const double sum = exponential_sum<true, T>(x, columns, shift);
    const T factor = static_cast<T>(op.gradient_scale / sum);
    const T everyone = static_cast<T>(op.gradient_scale * share);
#pragma omp simd
    for (std::size_t c = 0; c < columns; ++c) x[c] = x[c] * factor - everyone;
    x[target] -= static_cast<T>(op.gradient_scale * (1 - op.smoothing));
    return std::log(sum) - right;
}

template <class T>
void cross_entropy(int threads, const CrossEntropy& op) {
    const auto logits = op.logits.as<T>();
    const std::int32_t* targets = op.targets.as<std::int32_t>().data;
    double* losses = op.losses.as<double>().data;
    std::int32_t* choices = op.choices.is_present() ? op.choices.as<std::int32_t>().data : nullptr;
    const auto one_row = [&](std::size_t r) {
        T* x = logits.row(r);
        const bool has_target = targets[r] != no_target;
        const T shift = has_target || choices != nullptr ? largest(x, logits.columns) : T{0};
        if (choices != nullptr) {
            choices[r] = static_cast<std::int32_t>(first_column_of(x, logits.columns, shift));
        }
        losses[r] = has_target ? row_loss(op, x, static_cast<std::size_t>(targets[r]), shift) : 0;
        if (!has_target && op.gradient_scale != 0) std::fill_n(x, logits.columns, T{0});
    };
    cpu::for_each_rows(threads, logits.rows, logits.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) one_row(r);
    });
}

}  // namespace

void run(CpuStream& stream, const CrossEntropy& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) { cross_entropy<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme
