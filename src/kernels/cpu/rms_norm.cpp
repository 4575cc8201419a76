#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "trireme/kernels/norm.hpp"

namespace trireme::kernels {
namespace {

// Sums in double. In float, the squares of large values would overflow, and the sum would lose digits that the
// square root does not recover.
template <class T>
double compute_mean_square(const T* x, std::size_t columns) {
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::size_t c = 0; c < columns; ++c) squares += static_cast<double>(x[c]) * static_cast<double>(x[c]);
    return squares / static_cast<double>(columns);
}

template <class T>
void normalise(int threads, const RmsNorm& op) {
    const auto input = op.input.as<T>();
    const auto output = op.output.as<T>();
    const T* gain = op.gain.as<T>().data;
    T* inv_rms_values = op.inv_rms.as<T>().data;
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            T* y = output.row(r);
            const T inv_rms = static_cast<T>(1 / std::sqrt(compute_mean_square(x, input.columns) + op.epsilon));
            inv_rms_values[r] = inv_rms;
#pragma omp simd
            for (std::size_t c = 0; c < input.columns; ++c) y[c] = x[c] * inv_rms * gain[c];
        }
    });
}

// Returns the slope of the backward pass. With the normalised row n = input * inv_rms, and g = gain *
// grad_output:
//   grad_input = inv_rms * (g - n * average(g n)) = inv_rms * (g - input * slope)        (+ residual)
template <class T>
T compute_slope(const T* x, const T* gain, const T* dy, T inv_rms, std::size_t columns) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t c = 0; c < columns; ++c) sum += static_cast<double>(gain[c] * dy[c]) * x[c];
    return static_cast<T>(sum / static_cast<double>(columns) * inv_rms * inv_rms);
}

template <class T>
void normalise_backward(int threads, const RmsNormBackwardInput& op) {
    const auto input = op.input.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_input = op.grad_input.as<T>();
    const bool has_residual = op.residual.is_present();
    const auto residual = has_residual ? op.residual.as<T>() : device::Elements<const T>{};
    const T* gain = op.gain.as<T>().data;
    const T* inv_rms_values = op.inv_rms.as<T>().data;
    const std::size_t columns = input.columns;
    cpu::for_each_rows(threads, input.rows, columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            const T* dy = grad_output.row(r);
            T* dx = grad_input.row(r);
            const T inv_rms = inv_rms_values[r];
            const T slope = compute_slope(x, gain, dy, inv_rms, columns);
            if (has_residual) {
                const T* residual_row = residual.row(r);
#pragma omp simd
                for (std::size_t c = 0; c < columns; ++c) {
                    dx[c] = residual_row[c] + inv_rms * (gain[c] * dy[c] - x[c] * slope);
                }
            } else {
#pragma omp simd
                for (std::size_t c = 0; c < columns; ++c) dx[c] = inv_rms * (gain[c] * dy[c] - x[c] * slope);
            }
        }
    });
}

constexpr std::size_t rows_per_sum = 64;      // rows of a partial sum: few, which keeps rounding errors small
constexpr std::size_t columns_per_sum = 256;  // partial sums at a time: few enough for the L1 cache

// Adds the terms of rows [begin, end) and columns [column, column + count) to `sums`.
template <class T>
void add_rows(const RmsNormBackwardWeight& op, std::size_t begin, std::size_t end, std::size_t column,
              std::size_t count, T* sums) {
    const auto input = op.input.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    for (std::size_t r = begin; r < end; ++r) {
        const T* x = input.row(r) + column;
        const T* dy = grad_output.row(r) + column;
        const T inv_rms = op.inv_rms.as<T>()[r];
#pragma omp simd
        for (std::size_t c = 0; c < count; ++c) sums[c] += dy[c] * (x[c] * inv_rms);
    }
}

template <class T>
void normalise_backward_weight(int threads, const RmsNormBackwardWeight& op) {
    const std::size_t rows = op.input.rows;
    T* grad_gain = op.grad_gain.as<T>().data;
    cpu::for_each_columns(threads, rows, op.input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = 0; r < rows; r += rows_per_sum) {
            for (std::size_t column = begin; column < end; column += columns_per_sum) {
                const std::size_t count = std::min(columns_per_sum, end - column);
                T sums[columns_per_sum] = {};
                add_rows(op, r, std::min(r + rows_per_sum, rows), column, count, sums);
#pragma omp simd
                for (std::size_t c = 0; c < count; ++c) grad_gain[column + c] += sums[c];
            }
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const RmsNorm& op) {
    if (op.fused_sum.is_present()) run(stream, op.fused_sum);  // computes op.input
    visit_float(op.input.dtype, [&](auto zero) { normalise<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const RmsNormBackwardInput& op) {
    visit_float(op.input.dtype, [&](auto zero) { normalise_backward<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const RmsNormBackwardWeight& op) {
    visit_float(op.input.dtype,
                [&](auto zero) { normalise_backward_weight<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
