#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "trireme/kernels/norm.hpp"

namespace trireme::kernels {
namespace {

// Sums in double, because the squares of large floats overflow and digits lost in the sum are lost in the root.
template <class T>
double mean_square(const T* x, std::size_t columns) {
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
    T* inv_rmss = op.inv_rms.as<T>().data;
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            T* y = output.row(r);
            const T inv_rms = static_cast<T>(1 / std::sqrt(mean_square(x, input.columns) + op.epsilon));
            inv_rmss[r] = inv_rms;
#pragma omp simd
            for (std::size_t c = 0; c < input.columns; ++c) y[c] = x[c] * inv_rms * gain[c];
        }
    });
}

// With n the normalised row and g = gain * grad_output:
//   grad_input = inv_rms * (g - n * average(g n)) = inv_rms * (g - input * slope)        (+ residual)
template <class T>
T slope_along(const T* x, const T* gain, const T* dy, T inv_rms, std::size_t columns) {
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
    const T* inv_rmss = op.inv_rms.as<T>().data;
    const std::size_t columns = input.columns;
    cpu::for_each_rows(threads, input.rows, columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            const T* dy = grad_output.row(r);
            T* dx = grad_input.row(r);
            const T inv_rms = inv_rmss[r];
            const T slope = slope_along(x, gain, dy, inv_rms, columns);
            if (has_residual) {
                const T* past = residual.row(r);
#pragma omp simd
                for (std::size_t c = 0; c < columns; ++c) {
                    dx[c] = past[c] + inv_rms * (gain[c] * dy[c] - x[c] * slope);
                }
            } else {
#pragma omp simd
                for (std::size_t c = 0; c < columns; ++c) dx[c] = inv_rms * (gain[c] * dy[c] - x[c] * slope);
            }
        }
    });
}

constexpr std::size_t sum_rows = 64;      // partial sums of this many rows keep rounding small
constexpr std::size_t sum_columns = 256;  // their partial sums stay in the L1 cache

// Adds rows [begin, end) of `count` columns from `column` on to the sums.
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
        for (std::size_t r = 0; r < rows; r += sum_rows) {
            for (std::size_t column = begin; column < end; column += sum_columns) {
                const std::size_t count = std::min(sum_columns, end - column);
                T sums[sum_columns] = {};
                add_rows(op, r, std::min(r + sum_rows, rows), column, count, sums);
#pragma omp simd
                for (std::size_t c = 0; c < count; ++c) grad_gain[column + c] += sums[c];
            }
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const RmsNorm& op) {
    if (op.sum.is_present()) run(stream, op.sum);
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
