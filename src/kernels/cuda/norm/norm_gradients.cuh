// Gradients of LayerNorm (centred) and RMSNorm (not centred).
#pragma once

#include "kernels/cuda/support/column_sums.cuh"
#include "kernels/cuda/support/kept_rows.cuh"

namespace trireme::kernels::gpu {

template <class T>
struct NormBackward {
    device::Elements<const T> input;
    device::Elements<const T> gain;
    const Wide<T>* mean;  // only if centred
    const Wide<T>* inv;
    device::Elements<const T> grad_output;
    device::Elements<const T> residual;  // null data if absent
    device::Elements<T> grad_input;
};

// With n the normalised row and g = gain * grad_output:
//   grad_input = inv * (g - average(g) - n * average(g n))        (+ residual)
// A norm that is not centred has no average(g).
template <bool is_centred, unsigned size, unsigned width, class T>
__global__ void __launch_bounds__(row_threads) normalise_backward(NormBackward<T> op) {
    using W = Wide<T>;
    using Team = RowTeam<size>;
    const std::size_t r = Team::row();
    if (r >= op.input.rows) return;
    const KeptRows<T, width, size, 2> rows({op.input, op.grad_output}, r);
    const W mean = is_centred ? op.mean[r] : W{0};
    const W inv = op.inv[r];
    W sum = 0;
    W sum_normal = 0;
    rows.for_each([&](std::size_t c, const auto& slice) {
        const auto gain = load<width>(op.gain, 0, c);
        for (unsigned i = 0; i < width; ++i) {
            const W g = gain[i] * slice.of[1][i];
            sum += g;
            sum_normal += g * ((slice.of[0][i] - mean) * inv);
        }
    });
    const W average = is_centred ? Team::sum(sum) / static_cast<W>(op.input.columns) : W{0};
    const W slope = Team::sum(sum_normal) / static_cast<W>(op.input.columns);
    rows.for_each([&](std::size_t c, const auto& slice) {
        const auto gain = load<width>(op.gain, 0, c);
        Vector<T, width> past{};
        if (op.residual.data != nullptr) past = load<width>(op.residual, r, c);
        Vector<T, width> dx;
        for (unsigned i = 0; i < width; ++i) {
            const W normal = (slice.of[0][i] - mean) * inv;
            dx.set(i, inv * (gain[i] * slice.of[1][i] - average - normal * slope) + past[i]);
        }
        store(op.grad_input, r, c, dx);
    });
}

template <bool is_centred, class T>
void normalise_rows_backward(device::CudaStream& stream, const NormBackward<T>& op) {
    const bool vectors = has_vectors<T>(op.input, op.gain, op.grad_output, op.residual, op.grad_input);
    visit_teams<T>(op.input.columns, vectors,
                   [&]<unsigned size, unsigned width>(std::integral_constant<unsigned, size>,
                                                      std::integral_constant<unsigned, width>) {
                       start(stream, grid_of_teams(op.input.rows, size),
                             normalise_backward<is_centred, size, width, T>, op);
                   });
}

// Terms of the gradients of the gain and, if centred, of the bias.
template <bool is_centred, class T>
struct NormTerms {
    using Element = T;
    using Sum = Wide<T>;
    static constexpr unsigned count = is_centred ? 2 : 1;
    device::Elements<const T> input;
    const Wide<T>* mean;  // only if centred
    const Wide<T>* inv;
    device::Elements<const T> grad_output;

    __host__ __device__ std::size_t rows() const { return input.rows; }
    __host__ __device__ std::size_t columns() const { return input.columns; }
    bool has_vectors() const { return gpu::has_vectors<T>(input, grad_output); }
    template <unsigned width>
    __device__ void add(std::size_t row, std::size_t column, Sum (&sums)[count][width]) const {
        const auto x = load<width>(input, row, column);
        const auto dy = load<width>(grad_output, row, column);
        const Wide<T> middle = is_centred ? mean[row] : Wide<T>{0};
        for (unsigned i = 0; i < width; ++i) {
            sums[0][i] += dy[i] * ((x[i] - middle) * inv[row]);
            if constexpr (is_centred) sums[1][i] += dy[i];
        }
    }
};

}  // namespace trireme::kernels::gpu
