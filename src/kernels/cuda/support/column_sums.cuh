// Sums over the rows of a matrix. One pass may compute several sums per column. The order of the additions
// depends only on the shape. A block of threads adds a run of consecutive rows, for a strip of columns; each of
// its 8 warps adds every eighth row. A second kernel adds the partial sums of the runs.
//
//   run 0   warp 0  rows 0 8 16 ..   |
//           warp 1  rows 1 9 17 ..   | partial[0]
//           ..                       |
//   run 1   ..                         partial[1]
#pragma once

#include "kernels/cuda/support/vectors.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned sum_warps = 8;
inline constexpr unsigned sum_threads = sum_warps * warp_size;

// Returns the rows per run: enough rows to outweigh the cost of the partial sums, and to have at most 128 runs,
// because one block of add_runs() adds the partial sums of all runs.
constexpr std::size_t plan_run_rows(std::size_t rows) {
    constexpr std::size_t min_rows = 64;
    constexpr std::size_t max_runs = 128;
    const std::size_t run_rows = divide_round_up(rows, max_runs);
    return run_rows < min_rows ? min_rows : run_rows;
}

// partial[run, s, c] = sum over the run's rows of term s of column c
template <unsigned width, class Terms>
__global__ void __launch_bounds__(sum_threads) sum_runs(Terms terms, typename Terms::Sum* partial) {
    using W = typename Terms::Sum;
    constexpr unsigned sums_of_lane = Terms::count * width;
    __shared__ W warp_sums[sum_warps][sums_of_lane][warp_size];
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = threadIdx.x / warp_size;
    const std::size_t columns = terms.columns();
    const std::size_t column = (std::size_t{blockIdx.x} * warp_size + lane) * width;
    const std::size_t run_rows = plan_run_rows(terms.rows());
    const std::size_t begin = blockIdx.y * run_rows;
    const std::size_t end = begin + run_rows < terms.rows() ? begin + run_rows : terms.rows();
    W sums[Terms::count][width] = {};
    if (column < columns) {
#pragma unroll 4  // keeps the loads of several rows in flight
        for (std::size_t r = begin + warp; r < end; r += sum_warps) terms.template add<width>(r, column, sums);
    }
    for (unsigned k = 0; k < sums_of_lane; ++k) warp_sums[warp][k][lane] = sums[k / width][k % width];
    __syncthreads();
    if (column >= columns) return;
    for (unsigned k = warp; k < sums_of_lane; k += sum_warps) {
        W sum = 0;
        for (unsigned w = 0; w < sum_warps; ++w) sum += warp_sums[w][k][lane];
        partial[(blockIdx.y * Terms::count + k / width) * columns + column + k % width] = sum;
    }
}

// Calls result(s, c, partial[0, s, c] + partial[1, s, c] + ...) for each sum s of each column c.
template <class W, class Result>
__global__ void __launch_bounds__(sum_threads)
    add_runs(const W* partial, std::size_t runs, std::size_t columns, Result result) {
    __shared__ W warp_sums[sum_warps][warp_size];
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = threadIdx.x / warp_size;
    const std::size_t column = std::size_t{blockIdx.x} * warp_size + lane;
    W sum = 0;
    if (column < columns)
        for (std::size_t run = warp; run < runs; run += sum_warps)
            sum += partial[(run * gridDim.y + blockIdx.y) * columns + column];
    warp_sums[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || column >= columns) return;
    for (unsigned w = 1; w < sum_warps; ++w) sum += warp_sums[w][lane];
    result(blockIdx.y, column, sum);
}

// Returns the bytes of scratch memory that sum_rows() needs.
template <class Terms>
std::size_t count_column_sums_bytes(const Terms& terms) {
    const std::size_t runs = divide_round_up(terms.rows(), plan_run_rows(terms.rows()));
    return runs * Terms::count * terms.columns() * sizeof(typename Terms::Sum);
}

// Computes Terms::count sums over terms.rows() rows for each of terms.columns() columns. terms.add<width>(row,
// column, sums) adds the terms of one vector of Terms::Element to sums[Terms::count][width]; it is called once
// per vector. result(s, column, sum) receives each sum s of a column. The caller ensures that `memory` has
// count_column_sums_bytes() bytes.
template <class Terms, class Result>
void sum_rows(device::CudaStream& stream, const Terms& terms, const Result& result, std::byte* memory) {
    using W = typename Terms::Sum;
    const std::size_t columns = terms.columns();
    const std::size_t runs = divide_round_up(terms.rows(), plan_run_rows(terms.rows()));
    W* const partial = reinterpret_cast<W*>(memory);
    visit_width<typename Terms::Element>(
        terms.may_use_vectors(), [&]<unsigned width>(std::integral_constant<unsigned, width>) {
            const device::GpuGrid grid{.blocks_x = count_blocks(columns / width, warp_size),
                                       .blocks_y = static_cast<unsigned>(runs),
                                       .threads = sum_threads};
            launch_kernel(stream, grid, sum_runs<width, Terms>, terms, partial);
        });
    const device::GpuGrid grid{
        .blocks_x = count_blocks(columns, warp_size), .blocks_y = Terms::count, .threads = sum_threads};
    launch_kernel(stream, grid, add_runs<W, Result>, partial, runs, columns, result);
}

// Calls sum_rows() with the scratch memory of the stream.
template <class Terms, class Result>
void sum_rows(device::CudaStream& stream, const Terms& terms, const Result& result) {
    sum_rows(stream, terms, result, stream.work->get_scratch(count_column_sums_bytes(terms)));
}

// A Result of sum_rows() that adds to arrays: arrays[s][column] += sum.
template <class W, unsigned count>
struct AddTo {
    W* arrays[count];

    __device__ void operator()(unsigned s, std::size_t column, W sum) const { arrays[s][column] += sum; }
};

// Terms of sum_rows() that are the elements of a matrix.
template <class T>
struct PlainTerms {
    using Element = T;
    using Sum = Accumulator<T>;
    static constexpr unsigned count = 1;
    device::Elements<const T> matrix;

    __host__ __device__ std::size_t rows() const { return matrix.rows; }
    __host__ __device__ std::size_t columns() const { return matrix.columns; }
    bool may_use_vectors() const { return gpu::may_use_vectors<T>(matrix); }
    template <unsigned width>
    __device__ void add(std::size_t row, std::size_t column, Sum (&sums)[1][width]) const {
        const auto x = load<width>(matrix, row, column);
        for (unsigned i = 0; i < width; ++i) sums[0][i] += x[i];
    }
};

}  // namespace trireme::kernels::gpu
