// Passes over a row of logits, for losses and gradients over a whole vocabulary or a part of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "kernels/cpu/exponential.hpp"

namespace trireme::kernels::cpu {

template <class T>
T largest(const T* x, std::size_t columns) {
    T most = std::numeric_limits<T>::lowest();
#pragma omp simd reduction(max : most)
    for (std::size_t c = 0; c < columns; ++c) most = x[c] > most ? x[c] : most;
    return most;
}

inline constexpr std::size_t sum_columns = 1024;  // columns summed in T; these partial sums are added in double

// Returns sum exp(x - shift). If `keep`, the terms overwrite x.
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

// Returns sum (x - shift). The terms are small, which keeps precision if all logits are large.
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

// Returns the first column that holds `value`; 0 if none does, which can happen with NaNs.
template <class T>
std::size_t first_column_of(const T* x, std::size_t columns, T value) {
    constexpr std::size_t step = 256;  // columns per comparison: a search with early exit does not vectorise
    for (std::size_t begin = 0; begin < columns; begin += step) {
        const std::size_t end = std::min(begin + step, columns);
        unsigned found = 0;
#pragma omp simd reduction(+ : found)
        for (std::size_t c = begin; c < end; ++c) found += x[c] == value ? 1U : 0U;
        if (found > 0) return static_cast<std::size_t>(std::find(x + begin, x + end, value) - x);
    }
    return 0;
}

}  // namespace trireme::kernels::cpu
