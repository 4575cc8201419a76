// Sums over the rows of a matrix, column by column, in an order that depends on its shape alone: a block sums a
// run of rows, then one thread a column sums the runs.
#pragma once

#include "kernels/cuda/language.cuh"

namespace trireme::gpu {

inline constexpr unsigned column_threads = 256;
inline constexpr std::size_t rows_of_run = 128;

// The term of a plain sum.
template <class T>
struct Element {
    Elements<const T> of;

    __device__ Wide<T> operator()(std::size_t row, std::size_t column) const {
        return static_cast<Wide<T>>(of(row, column));
    }
};

// partial[run, c] = sum over the run's rows of term(row, c)
template <class W, class Term>
__global__ void __launch_bounds__(column_threads)
    sum_runs(Term term, std::size_t rows, std::size_t columns, W* partial) {
    const std::size_t column = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    const std::size_t begin = blockIdx.y * rows_of_run;
    const std::size_t end = begin + rows_of_run < rows ? begin + rows_of_run : rows;
    W sum = 0;
    for (std::size_t row = begin; row < end; ++row) sum += term(row, column);
    partial[blockIdx.y * columns + column] = sum;
}

// sums[c] += partial[0, c] + partial[1, c] + ...
template <class W>
__global__ void __launch_bounds__(column_threads)
    add_runs(const W* partial, std::size_t runs, std::size_t columns, W* sums) {
    const std::size_t column = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    W sum = 0;
    for (std::size_t run = 0; run < runs; ++run) sum += partial[run * columns + column];
    sums[column] += sum;
}

// sums[c] += sum over rows of term(row, c). `Term` can be called on the GPU.
template <class W, class Term>
void add_column_sums(CudaStream& stream, Term term, std::size_t rows, std::size_t columns, W* sums) {
    const std::size_t runs = parts(rows, rows_of_run);
    if (runs == 0) return;
    const auto blocks = static_cast<unsigned>(parts(columns, column_threads));
    W* const partial = reinterpret_cast<W*>(stream.work->scratch(runs * columns * sizeof(W)));
    start(stream, {.blocks_x = blocks, .blocks_y = static_cast<unsigned>(runs), .threads = column_threads},
          sum_runs<W, Term>, term, rows, columns, partial);
    start(stream, {.blocks_x = blocks, .threads = column_threads}, add_runs<W>, partial, runs, columns, sums);
}

}  // namespace trireme::gpu
