#include "trireme/kernels/norm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.hpp"

namespace trireme::kernels {
namespace {

template <class T>
struct Moments {
    T mean;
    T inv_std;
};

// Makes two passes over the row: one for the mean, which loads the row into the cache, and one for the squared
// deviations from the mean.
template <class T>
Moments<T> compute_moments(const T* x, std::size_t columns, double epsilon) {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t c = 0; c < columns; ++c) sum += x[c];
    const T mean = sum / static_cast<T>(columns);
    T squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::size_t c = 0; c < columns; ++c) squares += (x[c] - mean) * (x[c] - mean);
    const double variance = static_cast<double>(squares) / static_cast<double>(columns);
    return {mean, static_cast<T>(1 / std::sqrt(variance + epsilon))};
}

template <class T>
void normalise(int threads, const LayerNorm& op) {
    const auto input = op.input.as<T>();
    const auto output = op.output.as<T>();
    const T* gain = op.gain.as<T>().data;
    const T* bias = op.bias.as<T>().data;
    T* means = op.mean.as<T>().data;
    T* inv_stds = op.inv_std.as<T>().data;
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            T* y = output.row(r);
            const auto [mean, inv_std] = compute_moments(x, input.columns, op.epsilon);
            means[r] = mean;
            inv_stds[r] = inv_std;
#pragma omp simd
            for (std::size_t c = 0; c < input.columns; ++c) y[c] = (x[c] - mean) * inv_std * gain[c] + bias[c];
        }
    });
}

// With the normalised row n = (input - mean) * inv_std, and g = gain * grad_output:
//   grad_input = inv_std * (g - average(g) - n * average(g n))        (+ residual)
// `slope` is average(g n) * inv_std.
template <class T>
void normalise_backward(int threads, const LayerNormBackwardInput& op) {
    const auto input = op.input.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_input = op.grad_input.as<T>();
    const bool has_residual = op.residual.is_present();
    const auto residual = has_residual ? op.residual.as<T>() : device::Elements<const T>{};
    const T* gain = op.gain.as<T>().data;
    const T* means = op.mean.as<T>().data;
    const T* inv_stds = op.inv_std.as<T>().data;
    const std::size_t columns = input.columns;
    cpu::for_each_rows(threads, input.rows, columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            const T* dy = grad_output.row(r);
            T* dx = grad_input.row(r);
            const T mean = means[r];
            const T inv_std = inv_stds[r];
            T sum = 0;
            T sum_with_deviation = 0;
#pragma omp simd reduction(+ : sum, sum_with_deviation)
            for (std::size_t c = 0; c < columns; ++c) {
                const T g = gain[c] * dy[c];
                sum += g;
                sum_with_deviation += g * (x[c] - mean);
            }
            const T average = sum / static_cast<T>(columns);
            const T slope = sum_with_deviation * inv_std * inv_std / static_cast<T>(columns);
            if (has_residual) {
                const T* residual_row = residual.row(r);
#pragma omp simd
                for (std::size_t c = 0; c < columns; ++c) {
                    dx[c] = residual_row[c] + inv_std * (gain[c] * dy[c] - average - (x[c] - mean) * slope);
                }
            } else {
#pragma omp simd
                for (std::size_t c = 0; c < columns; ++c) {
                    dx[c] = inv_std * (gain[c] * dy[c] - average - (x[c] - mean) * slope);
                }
            }
        }
    });
}

constexpr std::size_t rows_per_sum = 64;      // rows of a partial sum: few, which keeps rounding errors small
constexpr std::size_t columns_per_sum = 256;  // partial sums at a time: few enough for the L1 cache

template <class T>
struct WeightSums {
    T gain[columns_per_sum] = {};
    T bias[columns_per_sum] = {};
};

// Adds the terms of rows [begin, end) and columns [column, column + count) to `sums`.
template <class T>
void add_rows(const LayerNormBackwardWeight& op, std::size_t begin, std::size_t end, std::size_t column,
              std::size_t count, WeightSums<T>& sums) {
    const auto input = op.input.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    for (std::size_t r = begin; r < end; ++r) {
        const T* x = input.row(r) + column;
        const T* dy = grad_output.row(r) + column;
        const T mean = op.mean.as<T>()[r];
        const T inv_std = op.inv_std.as<T>()[r];
#pragma omp simd
        for (std::size_t c = 0; c < count; ++c) {
            sums.gain[c] += dy[c] * ((x[c] - mean) * inv_std);
            sums.bias[c] += dy[c];
        }
    }
}

template <class T>
void normalise_backward_weight(int threads, const LayerNormBackwardWeight& op) {
    const std::size_t rows = op.input.rows;
    T* grad_gain = op.grad_gain.as<T>().data;
    T* grad_bias = op.grad_bias.as<T>().data;
    cpu::for_each_columns(threads, rows, op.input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = 0; r < rows; r += rows_per_sum) {
            for (std::size_t column = begin; column < end; column += columns_per_sum) {
                const std::size_t count = std::min(columns_per_sum, end - column);
                WeightSums<T> sums;
                add_rows(op, r, std::min(r + rows_per_sum, rows), column, count, sums);
#pragma omp simd
                for (std::size_t c = 0; c < count; ++c) {
                    grad_gain[column + c] += sums.gain[c];
                    grad_bias[column + c] += sums.bias[c];
                }
            }
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const LayerNorm& op) {
    if (op.fused_sum.is_present()) run(stream, op.fused_sum);  // computes op.input
    visit_float(op.input.dtype, [&](auto zero) { normalise<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const LayerNormBackwardInput& op) {
    visit_float(op.input.dtype, [&](auto zero) { normalise_backward<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const LayerNormBackwardWeight& op) {
    visit_float(op.input.dtype,
                [&](auto zero) { normalise_backward_weight<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
