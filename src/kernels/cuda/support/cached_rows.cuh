// Rows that a kernel reads several times. A warp processes a short row, and a block of threads processes a long
// row. Between the reads, each thread keeps its first vectors of the row in registers.
#pragma once

#include "kernels/cuda/support/elementwise.cuh"
#include "kernels/cuda/support/sums.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned row_threads = 256;   // threads per block
inline constexpr unsigned cached_vectors = 4;  // vectors per thread and matrix that are kept in registers

// The threads that process one row: a warp or a block of `size` threads.
template <unsigned size>
struct RowThreads {
    static_assert(size == warp_size || size == row_threads);

    // Returns the row that the calling thread processes.
    static __device__ std::size_t row() {
        return std::size_t{blockIdx.x} * (row_threads / size) + threadIdx.x / size;
    }
    // Returns the index of the calling thread among the threads of its row.
    static __device__ unsigned index() { return threadIdx.x % size; }
    // Returns the sum of `value` over the threads of the row. All of them get the result.
    template <class W>
    static __device__ W sum(W value) {
        if constexpr (size == warp_size)
            return sum_over_warp(value);
        else
            return sum_over_block(value);
    }
};

// The elements that one thread processes of a row, in each of `count` matrices. The row has the same index in
// all matrices. The elements form vectors of `width` elements. The first elements of a thread's consecutive
// vectors are size * width elements apart.
template <class T, unsigned vector_size, unsigned size, unsigned count>
class CachedRows {
public:
    static constexpr unsigned width = vector_size;
    // The vectors of all matrices at the same column.
    struct Slice {
        Vector<T, width> vectors[count];
    };

    __device__ CachedRows(const device::Elements<const T> (&matrices)[count], std::size_t row)
        : columns_(matrices[0].columns) {
        for (unsigned k = 0; k < count; ++k) rows_[k] = matrices[k].row(row);
#pragma unroll
        for (unsigned n = 0; n < cached_vectors; ++n)
            if (column(n) < columns_) cached_[n] = slice_at(column(n));
    }

    // Calls use(column) for all vectors of this thread, with the column of the vector's first element.
    template <class Use>
    static __device__ void for_each_column(std::size_t columns, const Use& use) {
        for (std::size_t c = column(0); c < columns; c += size * width) use(c);
    }

    // Calls use(column, slice) for all vectors of this thread, in order.
    template <class Use>
    __device__ void for_each(const Use& use) const {
#pragma unroll
        for (unsigned n = 0; n < cached_vectors; ++n)
            if (column(n) < columns_) use(column(n), cached_[n]);
        for (std::size_t c = column(cached_vectors); c < columns_; c += size * width) use(c, slice_at(c));
    }

private:
    static __device__ std::size_t column(unsigned n) {
        return (std::size_t{n} * size + RowThreads<size>::index()) * width;
    }
    __device__ Slice slice_at(std::size_t column) const {
        Slice slice;
        for (unsigned k = 0; k < count; ++k) slice.vectors[k] = load<width>(rows_[k] + column);
        return slice;
    }

    const T* rows_[count];
    std::size_t columns_;
    Slice cached_[cached_vectors];
};

// Calls use(size, width) with the number of threads per row and the vector width for rows of `columns`
// elements, both as std::integral_constant.
template <class T, class Use>
void visit_row_threads(std::size_t columns, bool may_use_vectors, Use&& use) {
    visit_width<T>(may_use_vectors, [&]<unsigned width>(std::integral_constant<unsigned, width> vector_size) {
        if (columns <= warp_size * cached_vectors * width)
            return use(std::integral_constant<unsigned, warp_size>{}, vector_size);
        use(std::integral_constant<unsigned, row_threads>{}, vector_size);
    });
}

// Returns a grid with `size` threads per row.
inline device::GpuGrid make_row_grid(std::size_t rows, unsigned size) {
    return {.blocks_x = count_blocks(rows, row_threads / size), .threads = row_threads};
}

}  // namespace trireme::kernels::gpu
