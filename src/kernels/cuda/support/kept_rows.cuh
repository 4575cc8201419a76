// Rows that a kernel reads several times. A warp processes a short row, a block a long one. The vectors that
// fit stay in registers between the passes.
#pragma once

#include "kernels/cuda/support/elementwise.cuh"
#include "kernels/cuda/support/sums.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned row_threads = 256;  // threads per block
inline constexpr unsigned kept_vectors = 4;   // vectors per thread in registers

// The threads that process one row: a warp or a block of `size` threads.
template <unsigned size>
struct RowTeam {
    static_assert(size == warp_size || size == row_threads);

    static __device__ std::size_t row() {
        return std::size_t{blockIdx.x} * (row_threads / size) + threadIdx.x / size;
    }
    static __device__ unsigned member() { return threadIdx.x % size; }
    template <class W>
    static __device__ W sum(W value) {
        if constexpr (size == warp_size)
            return warp_sum(value);
        else
            return block_sum(value);
    }
};

// One thread's part of the same row of `count` matrices: vectors that are size * width elements apart.
template <class T, unsigned vector, unsigned size, unsigned count>
class KeptRows {
public:
    static constexpr unsigned width = vector;
    struct Slice {
        Vector<T, width> of[count];
    };

    __device__ KeptRows(const device::Elements<const T> (&matrices)[count], std::size_t row)
        : columns_(matrices[0].columns) {
        for (unsigned k = 0; k < count; ++k) rows_[k] = matrices[k].row(row);
#pragma unroll
        for (unsigned n = 0; n < kept_vectors; ++n)
            if (column(n) < columns_) kept_[n] = slice_at(column(n));
    }

    // Calls use(column) for all vectors of this thread.
    template <class Use>
    static __device__ void for_each_column(std::size_t columns, const Use& use) {
        for (std::size_t c = column(0); c < columns; c += size * width) use(c);
    }

    // Calls use(column, slice) for all vectors of this thread, in order.
    template <class Use>
    __device__ void for_each(const Use& use) const {
#pragma unroll
        for (unsigned n = 0; n < kept_vectors; ++n)
            if (column(n) < columns_) use(column(n), kept_[n]);
        for (std::size_t c = column(kept_vectors); c < columns_; c += size * width) use(c, slice_at(c));
    }

private:
    static __device__ std::size_t column(unsigned n) {
        return (std::size_t{n} * size + RowTeam<size>::member()) * width;
    }
    __device__ Slice slice_at(std::size_t column) const {
        Slice slice;
        for (unsigned k = 0; k < count; ++k) slice.of[k] = load<width>(rows_[k] + column);
        return slice;
    }

    const T* rows_[count];
    std::size_t columns_;
    Slice kept_[kept_vectors];
};

// Calls use(size, width) with the team size and vector width for rows of `columns` elements, both as
// std::integral_constant.
template <class T, class Use>
void visit_teams(std::size_t columns, bool has_vectors, Use&& use) {
    visit_width<T>(has_vectors, [&]<unsigned width>(std::integral_constant<unsigned, width> of_vector) {
        if (columns <= warp_size * kept_vectors * width)
            return use(std::integral_constant<unsigned, warp_size>{}, of_vector);
        use(std::integral_constant<unsigned, row_threads>{}, of_vector);
    });
}

// Returns a grid with one team per row.
inline device::GpuGrid grid_of_teams(std::size_t rows, unsigned size) {
    return {.blocks_x = blocks_for(rows, row_threads / size), .threads = row_threads};
}

}  // namespace trireme::kernels::gpu
