// Forward pass of LayerNorm (centred: mean and variance) and RMSNorm (not centred: mean square alone).
#pragma once

#include "kernels/cuda/norm/residual_add.cuh"
#include "kernels/cuda/support/kept_rows.cuh"

namespace trireme::kernels::gpu {

template <class T>
struct NormForward {
    device::Elements<const T> input;
    device::Elements<const T> gain;
    device::Elements<const T> bias;  // only if centred
    device::Elements<T> output;
    Wide<T>* mean;  // only if centred
    Wide<T>* inv;   // 1 / standard deviation, or 1 / root mean square
    double epsilon;
};

template <class W>
struct Moments {
    W mean;
    W inv;
};

// Makes two passes over the row: the mean, then the squared deviations from it.
template <class Team, class W, class Row>
__device__ Moments<W> centred_moments(const Row& row, std::size_t columns, double epsilon) {
    W sum = 0;
    row.for_each([&](std::size_t, const auto& slice) {
        for (unsigned i = 0; i < Row::width; ++i) sum += slice.of[0][i];
    });
    const W mean = Team::sum(sum) / static_cast<W>(columns);
    W squares = 0;
    row.for_each([&](std::size_t, const auto& slice) {
        for (unsigned i = 0; i < Row::width; ++i) squares += (slice.of[0][i] - mean) * (slice.of[0][i] - mean);
    });
    const W variance = Team::sum(squares) / static_cast<W>(columns);
    return {mean, rsqrt(variance + static_cast<W>(epsilon))};
}

// Sums in double, because the squares of large floats overflow.
template <class Team, class W, class Row>
__device__ Moments<W> square_moments(const Row& row, std::size_t columns, double epsilon) {
    double squares = 0;
    row.for_each([&](std::size_t, const auto& slice) {
        for (unsigned i = 0; i < Row::width; ++i) {
            const double x = slice.of[0][i];
            squares += x * x;
        }
    });
    return {0, static_cast<W>(rsqrt(Team::sum(squares) / static_cast<double>(columns) + epsilon))};
}

template <bool is_centred, class Team, class W, class Row>
__device__ Moments<W> moments_of(const Row& row, std::size_t columns, double epsilon) {
    if constexpr (is_centred)
        return centred_moments<Team, W>(row, columns, epsilon);
    else
        return square_moments<Team, W>(row, columns, epsilon);
}

// The `before` step of a norm whose input exists already.
struct NothingBefore {
    template <unsigned width>
    __device__ void at(std::size_t /*row*/, std::size_t /*column*/) const {}
};

// Normalises rows. `before` first computes the input; each thread computes the elements that it reads itself.
template <bool is_centred, unsigned size, unsigned width, class T, class Before>
__global__ void __launch_bounds__(row_threads) normalise(NormForward<T> op, Before before) {
    using W = Wide<T>;
    using Team = RowTeam<size>;
    using Row = KeptRows<T, width, size, 1>;
    const std::size_t r = Team::row();
    if (r >= op.input.rows) return;
    Row::for_each_column(op.input.columns, [&](std::size_t c) { before.template at<width>(r, c); });
    const Row row({op.input}, r);
    const Moments<W> moments = moments_of<is_centred, Team, W>(row, op.input.columns, op.epsilon);
    row.for_each([&](std::size_t c, const auto& slice) {
        const auto gain = load<width>(op.gain, 0, c);
        Vector<T, width> bias{};
        if constexpr (is_centred) bias = load<width>(op.bias, 0, c);
        Vector<T, width> y;
        for (unsigned i = 0; i < width; ++i) {
            const W normal = (slice.of[0][i] - moments.mean) * moments.inv;
            y.set(i, is_centred ? normal * gain[i] + bias[i] : normal * gain[i]);
        }
        store(op.output, r, c, y);
    });
    if (Team::member() != 0) return;
    if constexpr (is_centred) op.mean[r] = moments.mean;
    op.inv[r] = moments.inv;
}

template <bool is_centred, class T, class Before>
void normalise_rows(device::CudaStream& stream, const NormForward<T>& op, const Before& before,
                    bool may_have_vectors) {
    const bool vectors = may_have_vectors && has_vectors<T>(op.input, op.gain, op.bias, op.output);
    visit_teams<T>(op.input.columns, vectors,
                   [&]<unsigned size, unsigned width>(std::integral_constant<unsigned, size>,
                                                      std::integral_constant<unsigned, width>) {
                       start(stream, grid_of_teams(op.input.rows, size),
                             normalise<is_centred, size, width, T, Before>, op, before);
                   });
}

// Computes `sum` first, if it is present.
template <bool is_centred, class T>
void normalise_rows(device::CudaStream& stream, const NormForward<T>& op, const ResidualAdd& sum) {
    if (!sum.is_present()) return normalise_rows<is_centred>(stream, op, NothingBefore{}, true);
    visit_add<T>(sum, [&](const auto& add, bool has_vectors) {
        normalise_rows<is_centred>(stream, op, add, has_vectors);
    });
}

}  // namespace trireme::kernels::gpu
