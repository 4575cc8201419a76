// Each thread processes one indexed column in several rows. If all columns of the output are written, one block
// of threads processes each row instead.
#include <algorithm>

#include "kernels/cuda/support/scatter_sources.cuh"
#include "kernels/cuda/support/sums.cuh"
#include "kernels/cuda/support/vectors.cuh"
#include "kernels/unindexed_fill.hpp"
#include "trireme/kernels/columns.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;
using gpu::Source;

constexpr unsigned threads = 256;
constexpr std::size_t rows_per_thread = 4;  // a thread loads its column index once for these rows
constexpr std::size_t max_blocks_y = 65535;

// Returns a grid with one thread per column along x. The blocks along y divide the rows among themselves; a
// thread processes several rows.
device::GpuGrid make_column_grid(std::size_t rows, std::size_t columns) {
    return {
        .blocks_x = gpu::count_blocks(columns, threads),
        .blocks_y = static_cast<unsigned>(std::min(gpu::divide_round_up(rows, rows_per_thread), max_blocks_y)),
        .threads = threads};
}

template <class T>
__global__ void __launch_bounds__(threads)
    gather_columns(device::Elements<const T> input, const std::int32_t* columns, device::Elements<T> output) {
    const std::size_t c = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (c >= output.columns) return;
    const auto column = static_cast<std::size_t>(columns[c]);
    for (std::size_t r = blockIdx.y; r < output.rows; r += gridDim.y) output(r, c) = input(r, column);
}

template <class T>
__global__ void __launch_bounds__(threads)
    scatter_columns(device::Elements<const T> input, const std::int32_t* columns, device::Elements<T> output,
                    bool accumulate) {
    const std::size_t c = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (c >= input.columns) return;
    const auto column = static_cast<std::size_t>(columns[c]);
    for (std::size_t r = blockIdx.y; r < input.rows; r += gridDim.y)
        gpu::store_or_add(&output(r, column), gpu::load<1>(input, r, c), accumulate);
}

template <class T>
struct ScatterAllColumns {
    device::Elements<const T> input;
    const Source* sources;  // (output.columns): the input column of each output column
    device::Elements<T> output;
    bool has_mean;  // if true, output columns without an index get the mean of the input row, else zeros
    bool accumulate;
};

template <class T>
__global__ void __launch_bounds__(threads) scatter_all_columns(ScatterAllColumns<T> op) {
    const T* const from = op.input.row(blockIdx.x);
    T* const to = op.output.row(blockIdx.x);
    gpu::Vector<T, 1> fill_value{};
    if (op.has_mean) {
        Accumulator<T> sum = 0;
        for (std::size_t c = threadIdx.x; c < op.input.columns; c += blockDim.x)
            sum += static_cast<Accumulator<T>>(from[c]);
        fill_value.set(0, gpu::sum_over_block(sum) / static_cast<Accumulator<T>>(op.input.columns));
    }
    for (std::size_t c = threadIdx.x; c < op.output.columns; c += blockDim.x) {
        const Source source = op.sources[c];
        gpu::store_or_add(to + c, source == 0 ? fill_value : gpu::load<1>(from + (source - 1)), op.accumulate);
    }
}

template <class T>
void scatter_all(device::CudaStream& stream, const ScatterColumns& op) {
    std::byte* const memory = stream.work->get_scratch(op.output.columns * sizeof(Source));
    const ScatterAllColumns<T> call{.input = gpu::get_elements<T>(op.input),
                                    .sources = gpu::find_sources(stream, op.columns, op.output.columns, memory),
                                    .output = gpu::get_elements<T>(op.output),
                                    .has_mean = op.unindexed_fill == UnindexedFill::mean,
                                    .accumulate = op.accumulate};
    gpu::launch_kernel(stream, {.blocks_x = gpu::count_blocks(op.output.rows, 1), .threads = threads},
                       scatter_all_columns<T>, call);
}

}  // namespace

void run(device::CudaStream& stream, const GatherColumns& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        gpu::launch_kernel(stream, make_column_grid(op.output.rows, op.output.columns), gather_columns<T>,
                           gpu::get_elements<T>(op.input), gpu::get_gpu_indices(stream, op.columns),
                           gpu::get_elements<T>(op.output));
    });
}

void run(device::CudaStream& stream, const ScatterColumns& op) {
    const bool writes_all = writes_unindexed(op.unindexed_fill, op.accumulate);
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        if (writes_all) return scatter_all<T>(stream, op);
        gpu::launch_kernel(stream, make_column_grid(op.input.rows, op.input.columns), scatter_columns<T>,
                           gpu::get_elements<T>(op.input), gpu::get_gpu_indices(stream, op.columns),
                           gpu::get_elements<T>(op.output), op.accumulate);
    });
}

}  // namespace trireme::kernels
