// Sums over the rows of a matrix, several for every column in one go, in an order that depends on its shape
// alone: a block sums a run of rows for a strip of columns, a warp every eighth of them, then another adds the
// runs.
//
//   run 0   warp 0  rows 0 8 16 ..   |
//           warp 1  rows 1 9 17 ..   | partial[0]
//           ..                       |
//   run 1   ..                         partial[1]
#pragma once

#include "kernels/cuda/elementwise.cuh"

namespace trireme::gpu {

inline constexpr unsigned sum_warps = 8;
inline constexpr unsigned sum_threads = sum_warps * warp_size;

// Runs are long enough to repay their partial sums, and few enough for one block to add.
constexpr std::size_t rows_of_sum_run(std::size_t rows) {
    constexpr std::size_t fewest_rows = 64;
    constexpr std::size_t most_runs = 128;
    const std::size_t rows_of_run = parts(rows, most_runs);
    return rows_of_run < fewest_rows ? fewest_rows : rows_of_run;
}

// partial[run, s, c] = sum over the run's rows of terms' s-th sum for column c
template <class W, unsigned width, class Terms>
__global__ void __launch_bounds__(sum_threads)
    sum_vectors(Terms terms, std::size_t rows, std::size_t columns, std::size_t rows_of_run, W* partial) {
    constexpr unsigned sums_of_lane = Terms::count * width;
    __shared__ W of_warps[sum_warps][sums_of_lane][warp_size];
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = threadIdx.x / warp_size;
    const std::size_t column = (std::size_t{blockIdx.x} * warp_size + lane) * width;
    const std::size_t begin = blockIdx.y * rows_of_run;
    const std::size_t end = begin + rows_of_run < rows ? begin + rows_of_run : rows;
    W sums[Terms::count][width] = {};
    if (column < columns) {
#pragma unroll 4  // loads of several rows are on their way at once
        for (std::size_t r = begin + warp; r < end; r += sum_warps) terms.template add<width>(r, column, sums);
    }
    for (unsigned k = 0; k < sums_of_lane; ++k) of_warps[warp][k][lane] = sums[k / width][k % width];
    __syncthreads();
    if (column >= columns) return;
    for (unsigned k = warp; k < sums_of_lane; k += sum_warps) {
        W sum = 0;
        for (unsigned w = 0; w < sum_warps; ++w) sum += of_warps[w][k][lane];
        partial[(blockIdx.y * Terms::count + k / width) * columns + column + k % width] = sum;
    }
}

// result(s, c, partial[0, s, c] + partial[1, s, c] + ...)
template <class W, class Result>
__global__ void __launch_bounds__(sum_threads)
    add_sums(const W* partial, std::size_t runs, std::size_t columns, Result result) {
    __shared__ W of_warps[sum_warps][warp_size];
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = threadIdx.x / warp_size;
    const std::size_t column = std::size_t{blockIdx.x} * warp_size + lane;
    W sum = 0;
    if (column < columns)
        for (std::size_t run = warp; run < runs; run += sum_warps)
            sum += partial[(run * gridDim.y + blockIdx.y) * columns + column];
    of_warps[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || column >= columns) return;
    for (unsigned w = 1; w < sum_warps; ++w) sum += of_warps[w][lane];
    result(blockIdx.y, column, sum);
}

// `terms.add<width>(row, column, sums)` adds the terms of a vector to sums[Terms::count][width]; it is called
// once for every vector of the matrix. `result(s, column, sum)` is called once for every sum.
template <class T, class Terms, class Result>
void sum_rows(CudaStream& stream, const Terms& terms, std::size_t rows, std::size_t columns, bool has_vectors,
              const Result& result) {
    using W = Wide<T>;
    const std::size_t rows_of_run = rows_of_sum_run(rows);
    const std::size_t runs = parts(rows, rows_of_run);
    if (runs == 0) return;
    W* const partial = reinterpret_cast<W*>(stream.work->scratch(runs * Terms::count * columns * sizeof(W)));
    visit_width<T>(has_vectors, [&]<unsigned width>(std::integral_constant<unsigned, width>) {
        const GpuGrid grid{.blocks_x = blocks_for(columns / width, warp_size),
                           .blocks_y = static_cast<unsigned>(runs),
                           .threads = sum_threads};
        start(stream, grid, sum_vectors<W, width, Terms>, terms, rows, columns, rows_of_run, partial);
    });
    const GpuGrid grid{
        .blocks_x = blocks_for(columns, warp_size), .blocks_y = Terms::count, .threads = sum_threads};
    start(stream, grid, add_sums<W, Result>, partial, runs, columns, result);
}

// of[s][c] += sum
template <class W, unsigned count>
struct AddTo {
    W* of[count];

    __device__ void operator()(unsigned s, std::size_t column, W sum) const { of[s][column] += sum; }
};

template <class T>
struct PlainTerm {
    static constexpr unsigned count = 1;
    Elements<const T> matrix;

    template <unsigned width>
    __device__ void add(std::size_t row, std::size_t column, Wide<T> (&sums)[1][width]) const {
        const auto x = load<width>(matrix, row, column);
        for (unsigned i = 0; i < width; ++i) sums[0][i] += x[i];
    }
};

// sums[c] += sum over rows of matrix[r, c]
template <class T>
void add_rows_to(CudaStream& stream, const Elements<const T>& matrix, Wide<T>* sums) {
    sum_rows<T>(stream, PlainTerm<T>{matrix}, matrix.rows, matrix.columns,
                has_vectors<T>(matrix.columns, matrix), AddTo<Wide<T>, 1>{sums});
}

}  // namespace trireme::gpu
