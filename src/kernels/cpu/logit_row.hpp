// Passes over a row of logits, for losses and gradients. The row may hold only this rank's columns of the
// vocabulary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "kernels/cpu/exponential.hpp"

namespace trireme::kernels::cpu {

template <class T>
T find_largest(const T* x, std::size_t columns) {
    T largest = std::numeric_limits<T>::lowest();
#pragma omp simd reduction(max : largest)
    for (std::size_t c = 0; c < columns; ++c) largest = x[c] > largest ? x[c] : largest;
    return largest;
}

// Number of columns that are summed in T. These partial sums are added in double.
inline constexpr std::size_t columns_per_sum = 1024;

// Returns sum exp(x - shift). If `overwrites`, the terms of the sum overwrite x.
template <bool overwrites, class T>
double compute_exponential_sum(std::conditional_t<overwrites, T*, const T*> x, std::size_t columns, T shift) {
    double total = 0;
    for (std::size_t begin = 0; begin < columns; begin += columns_per_sum) {
        const std::size_t end = std::min(begin + columns_per_sum, columns);
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t c = begin; c < end; ++c) {
            const T term = cpu::exponential(x[c] - shift);
            if constexpr (overwrites) x[c] = term;
            sum += term;
        }
        total += static_cast<double>(sum);
    }
    return total;
}

// Returns sum (x - shift). With a shift near the logits the terms are small, which keeps precision if all
// logits are large.
template <class T>
double compute_shifted_sum(const T* x, std::size_t columns, T shift) {
    double total = 0;
    for (std::size_t begin = 0; begin < columns; begin += columns_per_sum) {
        const std::size_t end = std::min(begin + columns_per_sum, columns);
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t c = begin; c < end; ++c) sum += x[c] - shift;
        total += static_cast<double>(sum);
    }
    return total;
}

// Returns the first column with `value`; 0 if no column has it, which can happen with NaNs.
template <class T>
std::size_t find_first_column(const T* x, std::size_t columns, T value) {
    // Compares many columns at a time, because a loop that ends at the first match does not vectorise.
    constexpr std::size_t columns_per_search = 256;
    for (std::size_t begin = 0; begin < columns; begin += columns_per_search) {
        const std::size_t end = std::min(begin + columns_per_search, columns);
        unsigned matches = 0;
#pragma omp simd reduction(+ : matches)
        for (std::size_t c = begin; c < end; ++c) matches += x[c] == value ? 1U : 0U;
        if (matches > 0) return static_cast<std::size_t>(std::find(x + begin, x + end, value) - x);
    }
    return 0;
}

}  // namespace trireme::kernels::cpu
