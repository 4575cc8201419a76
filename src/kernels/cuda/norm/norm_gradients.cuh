// Gradients of LayerNorm (centred) and RMSNorm (not centred).
#pragma once

#include "kernels/cuda/support/cached_rows.cuh"
#include "kernels/cuda/support/column_sums.cuh"

namespace trireme::kernels::gpu {

// Arguments of normalise_backward().
template <class T>
struct NormBackward {
    device::Elements<const T> input;
    device::Elements<const T> gain;
    const Accumulator<T>* mean;  // only if centred
    const Accumulator<T>* inv_deviation;
    device::Elements<const T> grad_output;
    device::Elements<const T> residual;  // gradient of the branch that bypasses the norm; null data if absent
    device::Elements<T> grad_input;
};

// With the normalised row n = (input - mean) * inv_deviation, and g = gain * grad_output:
//   grad_input = inv_deviation * (g - average(g) - n * average(g n))        (+ residual)
// A norm that is not centred has no mean and no average(g).
template <bool is_centred, unsigned size, unsigned width, class T>
__global__ void __launch_bounds__(row_threads) normalise_backward(NormBackward<T> op) {
    using W = Accumulator<T>;
    using Threads = RowThreads<size>;
    const std::size_t r = Threads::row();
    if (r >= op.input.rows) return;
    const CachedRows<T, width, size, 2> rows({op.input, op.grad_output}, r);
    const W mean = is_centred ? op.mean[r] : W{0};
    const W inv_deviation = op.inv_deviation[r];
    W sum = 0;              // of g
    W sum_with_normal = 0;  // of g n
    rows.for_each([&](std::size_t c, const auto& slice) {
        const auto gain = load<width>(op.gain, 0, c);
        for (unsigned i = 0; i < width; ++i) {
            const W g = gain[i] * slice.vectors[1][i];
            sum += g;
            sum_with_normal += g * ((slice.vectors[0][i] - mean) * inv_deviation);
        }
    });
    const W average = is_centred ? Threads::sum(sum) / static_cast<W>(op.input.columns) : W{0};
    const W average_with_normal = Threads::sum(sum_with_normal) / static_cast<W>(op.input.columns);
    rows.for_each([&](std::size_t c, const auto& slice) {
        const auto gain = load<width>(op.gain, 0, c);
        Vector<T, width> residual_values{};
        if (op.residual.data != nullptr) residual_values = load<width>(op.residual, r, c);
        Vector<T, width> dx;
        for (unsigned i = 0; i < width; ++i) {
            const W normal = (slice.vectors[0][i] - mean) * inv_deviation;
            dx.set(i, inv_deviation * (gain[i] * slice.vectors[1][i] - average - normal * average_with_normal) +
                          residual_values[i]);
        }
        store(op.grad_input, r, c, dx);
    });
}

template <bool is_centred, class T>
void normalise_rows_backward(device::CudaStream& stream, const NormBackward<T>& op) {
    const bool uses_vectors = may_use_vectors<T>(op.input, op.gain, op.grad_output, op.residual, op.grad_input);
    visit_row_threads<T>(op.input.columns, uses_vectors,
                         [&]<unsigned size, unsigned width>(std::integral_constant<unsigned, size>,
                                                            std::integral_constant<unsigned, width>) {
                             launch_kernel(stream, make_row_grid(op.input.rows, size),
                                           normalise_backward<is_centred, size, width, T>, op);
                         });
}

// Terms of sum_rows() for the gradients of the gain and, if centred, of the bias.
template <bool is_centred, class T>
struct NormTerms {
    using Element = T;
    using Sum = Accumulator<T>;
    static constexpr unsigned count = is_centred ? 2 : 1;
    device::Elements<const T> input;
    const Accumulator<T>* mean;  // only if centred
    const Accumulator<T>* inv_deviation;
    device::Elements<const T> grad_output;

    __host__ __device__ std::size_t rows() const { return input.rows; }
    __host__ __device__ std::size_t columns() const { return input.columns; }
    bool may_use_vectors() const { return gpu::may_use_vectors<T>(input, grad_output); }
    template <unsigned width>
    __device__ void add(std::size_t row, std::size_t column, Sum (&sums)[count][width]) const {
        const auto x = load<width>(input, row, column);
        const auto dy = load<width>(grad_output, row, column);
        const Accumulator<T> row_mean = is_centred ? mean[row] : Accumulator<T>{0};
        for (unsigned i = 0; i < width; ++i) {
            sums[0][i] += dy[i] * ((x[i] - row_mean) * inv_deviation[row]);
            if constexpr (is_centred) sums[1][i] += dy[i];
        }
    }
};

}  // namespace trireme::kernels::gpu
