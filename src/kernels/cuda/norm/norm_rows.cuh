// Forward pass of LayerNorm (centred: mean and variance) and RMSNorm (not centred: mean square alone).
#pragma once

#include "kernels/cuda/norm/residual_add.cuh"
#include "kernels/cuda/support/cached_rows.cuh"

namespace trireme::kernels::gpu {

// Arguments of normalise().
template <class T>
struct NormForward {
    device::Elements<const T> input;
    device::Elements<const T> gain;
    device::Elements<const T> bias;  // only if centred
    device::Elements<T> output;
    Accumulator<T>* mean;           // only if centred
    Accumulator<T>* inv_deviation;  // 1 / standard deviation, or 1 / root mean square
    double epsilon;
};

template <class W>
struct Moments {
    W mean;
    W inv_deviation;
};

// Makes two passes over the row: one for the mean, and one for the squared deviations from the mean.
template <class Threads, class W, class Row>
__device__ Moments<W> compute_centred_moments(const Row& row, std::size_t columns, double epsilon) {
    W sum = 0;
    row.for_each([&](std::size_t, const auto& slice) {
        for (unsigned i = 0; i < Row::width; ++i) sum += slice.vectors[0][i];
    });
    const W mean = Threads::sum(sum) / static_cast<W>(columns);
    W squares = 0;
    row.for_each([&](std::size_t, const auto& slice) {
        for (unsigned i = 0; i < Row::width; ++i)
            squares += (slice.vectors[0][i] - mean) * (slice.vectors[0][i] - mean);
    });
    const W variance = Threads::sum(squares) / static_cast<W>(columns);
    return {mean, rsqrt(variance + static_cast<W>(epsilon))};
}

// Sums in double, because the squares of large floats overflow.
template <class Threads, class W, class Row>
__device__ Moments<W> compute_square_moments(const Row& row, std::size_t columns, double epsilon) {
    double squares = 0;
    row.for_each([&](std::size_t, const auto& slice) {
        for (unsigned i = 0; i < Row::width; ++i) {
            const double x = slice.vectors[0][i];
            squares += x * x;
        }
    });
    return {0, static_cast<W>(rsqrt(Threads::sum(squares) / static_cast<double>(columns) + epsilon))};
}

template <bool is_centred, class Threads, class W, class Row>
__device__ Moments<W> compute_moments(const Row& row, std::size_t columns, double epsilon) {
    if constexpr (is_centred)
        return compute_centred_moments<Threads, W>(row, columns, epsilon);
    else
        return compute_square_moments<Threads, W>(row, columns, epsilon);
}

// The `prior_step` of normalise() for a norm whose input exists already. Another prior step may compute the
// input of a norm.
struct NoPriorStep {
    template <unsigned width>
    __device__ void process(std::size_t /*row*/, std::size_t /*column*/) const {}
};

// Normalises rows. `prior_step` first computes the input: each thread computes the elements that it will read.
template <bool is_centred, unsigned size, unsigned width, class T, class PriorStep>
__global__ void __launch_bounds__(row_threads) normalise(NormForward<T> op, PriorStep prior_step) {
    using W = Accumulator<T>;
    using Threads = RowThreads<size>;
    using Row = CachedRows<T, width, size, 1>;
    const std::size_t r = Threads::row();
    if (r >= op.input.rows) return;
    Row::for_each_column(op.input.columns, [&](std::size_t c) { prior_step.template process<width>(r, c); });
    const Row row({op.input}, r);
    const Moments<W> moments = compute_moments<is_centred, Threads, W>(row, op.input.columns, op.epsilon);
    row.for_each([&](std::size_t c, const auto& slice) {
        const auto gain = load<width>(op.gain, 0, c);
        Vector<T, width> bias{};
        if constexpr (is_centred) bias = load<width>(op.bias, 0, c);
        Vector<T, width> y;
        for (unsigned i = 0; i < width; ++i) {
            const W normal = (slice.vectors[0][i] - moments.mean) * moments.inv_deviation;
            y.set(i, is_centred ? normal * gain[i] + bias[i] : normal * gain[i]);
        }
        store(op.output, r, c, y);
    });
    if (Threads::index() != 0) return;
    if constexpr (is_centred) op.mean[r] = moments.mean;
    op.inv_deviation[r] = moments.inv_deviation;
}

template <bool is_centred, class T, class PriorStep>
void normalise_rows(device::CudaStream& stream, const NormForward<T>& op, const PriorStep& prior_step,
                    bool step_may_use_vectors) {
    const bool uses_vectors = step_may_use_vectors && may_use_vectors<T>(op.input, op.gain, op.bias, op.output);
    visit_row_threads<T>(op.input.columns, uses_vectors,
                         [&]<unsigned size, unsigned width>(std::integral_constant<unsigned, size>,
                                                            std::integral_constant<unsigned, width>) {
                             launch_kernel(stream, make_row_grid(op.input.rows, size),
                                           normalise<is_centred, size, width, T, PriorStep>, op, prior_step);
                         });
}

// Normalises rows. If `sum` is present, the kernel first computes this residual sum, which is the input of the
// norm.
template <bool is_centred, class T>
void normalise_rows(device::CudaStream& stream, const NormForward<T>& op, const ResidualAdd& sum) {
    if (!sum.is_present()) return normalise_rows<is_centred>(stream, op, NoPriorStep{}, true);
    visit_add<T>(sum, [&](const auto& add, bool may_use_vectors) {
        normalise_rows<is_centred>(stream, op, add, may_use_vectors);
    });
}

}  // namespace trireme::kernels::gpu
