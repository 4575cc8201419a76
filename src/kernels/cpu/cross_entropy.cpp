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

// The first pass over a row brings it into the cache, where the other two find it.
template <class T>
double row_loss(T* x, std::size_t columns, std::size_t target, double gradient_scale) {
    const T shift = largest(x, columns);
    const double target_logit = static_cast<double>(x[target]) - static_cast<double>(shift);
    if (gradient_scale == 0) return std::log(exponential_sum<false, T>(x, columns, shift)) - target_logit;
    const double sum = exponential_sum<true, T>(x, columns, shift);
    const T factor = static_cast<T>(gradient_scale / sum);
#pragma omp simd
    for (std::size_t c = 0; c < columns; ++c) x[c] *= factor;
    x[target] -= static_cast<T>(gradient_scale);
    return std::log(sum) - target_logit;
}

template <class T>
void cross_entropy(int threads, const CrossEntropy& op) {
    const auto logits = op.logits.as<T>();
    const std::int32_t* targets = op.targets.as<std::int32_t>().data;
    double* losses = op.losses.as<double>().data;
    cpu::for_each_rows(threads, logits.rows, logits.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            if (targets[r] == no_target) {
                losses[r] = 0;
                if (op.gradient_scale != 0) std::fill_n(logits.row(r), logits.columns, T{0});
                continue;
            }
            losses[r] = row_loss(logits.row(r), logits.columns, static_cast<std::size_t>(targets[r]),
                                 op.gradient_scale);
        }
    });
}

}  // namespace

void run(CpuStream& stream, const CrossEntropy& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) { cross_entropy<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme
