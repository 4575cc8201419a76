#include "trireme/kernels/linear.hpp"

#include <algorithm>

#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/parallel.hpp"

namespace trireme::kernels {
namespace {

using cpu::Factor;
using cpu::Matmul;
using cpu::multiply;

template <class T>
void fill_rows(int threads, const device::Elements<T>& output, const T* values) {
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) std::copy_n(values, output.columns, output.row(r));
    });
}

constexpr std::size_t rows_per_sum = 64;      // rows of a partial sum: few, which keeps rounding errors small
constexpr std::size_t columns_per_sum = 256;  // partial sums at a time: few enough for the L1 cache

// sums[c] = sum over rows [begin, end) of matrix[r, column + c], for c < count
template <class T>
void sum_rows(const device::Elements<const T>& matrix, std::size_t begin, std::size_t end, std::size_t column,
              std::size_t count, T* sums) {
    std::fill_n(sums, count, T{0});
    for (std::size_t r = begin; r < end; ++r) {
        const T* row = matrix.row(r) + column;
#pragma omp simd
        for (std::size_t c = 0; c < count; ++c) sums[c] += row[c];
    }
}

// result[c] += sum over rows of matrix[r, c]
template <class T>
void add_column_sums(int threads, const device::Elements<const T>& matrix, T* result) {
    cpu::for_each_columns(threads, matrix.rows, matrix.columns, [&](std::size_t begin, std::size_t end) {
        T sums[columns_per_sum];
        for (std::size_t r = 0; r < matrix.rows; r += rows_per_sum) {
            for (std::size_t column = begin; column < end; column += columns_per_sum) {
                const std::size_t count = std::min(columns_per_sum, end - column);
                sum_rows(matrix, r, std::min(r + rows_per_sum, matrix.rows), column, count, sums);
#pragma omp simd
                for (std::size_t c = 0; c < count; ++c) result[column + c] += sums[c];
            }
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const Linear& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        const bool has_bias = op.bias.is_present();
        const auto output = op.output.as<T>();
        if (has_bias) fill_rows(stream.threads, output, op.bias.as<T>().data);
        multiply(stream.threads, Matmul<T>{.left = {op.input.as<T>()},
                                           .right = {op.weight.as<T>(), op.axes == WeightAxes::out_in},
                                           .output = output,
                                           .accumulate = has_bias});
    });
    if (op.activated_output.is_present())
        run(stream, Activation{.input = op.output, .output = op.activated_output, .kind = op.activation});
}

void run(device::CpuStream& stream, const LinearBackwardInput& op) {
    visit_float(op.grad_output.dtype, [&](auto zero) {
        using T = decltype(zero);
        multiply(stream.threads, Matmul<T>{.left = {op.grad_output.as<T>()},
                                           .right = {op.weight.as<T>(), op.axes == WeightAxes::in_out},
                                           .output = op.grad_input.as<T>(),
                                           .accumulate = op.accumulate});
    });
    if (op.activation_input.is_present())
        run(stream, ActivationBackward{.input = op.activation_input,
                                       .grad_output = op.grad_input,
                                       .grad_input = op.grad_input,
                                       .kind = op.activation});
}

void run(device::CpuStream& stream, const LinearBackwardWeight& op) {
    if (op.input.rows == 0) return;  // a library may refuse a depth of 0 or null pointers
    visit_float(op.grad_output.dtype, [&](auto zero) {
        using T = decltype(zero);
        const Factor<T> input{op.input.as<T>()};
        const Factor<T> grad_output{op.grad_output.as<T>()};
        const bool is_in_out = op.axes == WeightAxes::in_out;
        multiply(stream.threads, Matmul<T>{.left = {(is_in_out ? input : grad_output).matrix, true},
                                           .right = is_in_out ? grad_output : input,
                                           .output = op.grad_weight.as<T>(),
                                           .accumulate = true});
    });
    if (op.grad_bias.is_present()) run(stream, ColumnSums{.input = op.grad_output, .sums = op.grad_bias});
}

void run(device::CpuStream& stream, const ColumnSums& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        add_column_sums(stream.threads, op.input.as<T>(), op.sums.as<T>().data);
    });
}

}  // namespace trireme::kernels
