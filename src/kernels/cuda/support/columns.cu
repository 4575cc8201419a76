// Uses one thread per column, which processes several rows, or one block per row if all columns are written.
#include <algorithm>

#include "kernels/cuda/support/sources.cuh"
#include "kernels/cuda/support/sums.cuh"
#include "kernels/cuda/support/vectors.cuh"
#include "kernels/unnamed.hpp"
#include "trireme/kernels/columns.hpp"

namespace trireme::kernels {
namespace {

using gpu::Source;
using gpu::Wide;

constexpr unsigned threads = 256;
constexpr std::size_t rows_of_thread = 4;  // number of rows for which a thread loads its column index once
constexpr std::size_t most_blocks_y = 65535;

// Returns a grid with one thread per column, where each thread processes several rows.
device::GpuGrid by_columns(std::size_t rows, std::size_t columns) {
    return {.blocks_x = gpu::blocks_for(columns, threads),
            .blocks_y = static_cast<unsigned>(std::min(gpu::parts(rows, rows_of_thread), most_blocks_y)),
            .threads = threads};
}

template <class T>
__global__ void __launch_bounds__(threads)
    take_columns(device::Elements<const T> input, const std::int32_t* columns, device::Elements<T> output) {
    const std::size_t c = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (c >= output.columns) return;
    const auto column = static_cast<std::size_t>(columns[c]);
    for (std::size_t r = blockIdx.y; r < output.rows; r += gridDim.y) output(r, c) = input(r, column);
}

template <class T>
__global__ void __launch_bounds__(threads)
    put_columns(device::Elements<const T> input, const std::int32_t* columns, device::Elements<T> output,
                bool accumulate) {
    const std::size_t c = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (c >= input.columns) return;
    const auto column = static_cast<std::size_t>(columns[c]);
    for (std::size_t r = blockIdx.y; r < input.rows; r += gridDim.y)
        gpu::put(&output(r, column), gpu::load<1>(input, r, c), accumulate);
}

template <class T>
struct PutAllColumns {
    device::Elements<const T> input;
    const Source* sources;  // (columns of the output)
    device::Elements<T> output;
    bool has_mean;  // if false, columns without index get zeros
    bool accumulate;
};

template <class T>
__global__ void __launch_bounds__(threads) put_all_columns(PutAllColumns<T> op) {
    const T* const from = op.input.row(blockIdx.x);
    T* const to = op.output.row(blockIdx.x);
    gpu::Vector<T, 1> other{};
    if (op.has_mean) {
        Wide<T> sum = 0;
        for (std::size_t c = threadIdx.x; c < op.input.columns; c += blockDim.x)
            sum += static_cast<Wide<T>>(from[c]);
        other.set(0, gpu::block_sum(sum) / static_cast<Wide<T>>(op.input.columns));
    }
    for (std::size_t c = threadIdx.x; c < op.output.columns; c += blockDim.x) {
        const Source source = op.sources[c];
        gpu::put(to + c, source == 0 ? other : gpu::load<1>(from + (source - 1)), op.accumulate);
    }
}

template <class T>
void scatter_all(device::CudaStream& stream, const ScatterColumns& op) {
    std::byte* const memory = stream.work->scratch(op.output.columns * sizeof(Source));
    const PutAllColumns<T> put{.input = gpu::elements<T>(op.input),
                               .sources = gpu::sources_of(stream, op.columns, op.output.columns, memory),
                               .output = gpu::elements<T>(op.output),
                               .has_mean = op.unnamed == Unnamed::mean,
                               .accumulate = op.accumulate};
    gpu::start(stream, {.blocks_x = gpu::blocks_for(op.output.rows, 1), .threads = threads}, put_all_columns<T>,
               put);
}

}  // namespace

void run(device::CudaStream& stream, const GatherColumns& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        gpu::start(stream, by_columns(op.output.rows, op.output.columns), take_columns<T>,
                   gpu::elements<T>(op.input), gpu::names(stream, op.columns), gpu::elements<T>(op.output));
    });
}

void run(device::CudaStream& stream, const ScatterColumns& op) {
    const bool writes_all = writes_unnamed(op.unnamed, op.accumulate);
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        if (writes_all) return scatter_all<T>(stream, op);
        gpu::start(stream, by_columns(op.input.rows, op.input.columns), put_columns<T>,
                   gpu::elements<T>(op.input), gpu::names(stream, op.columns), gpu::elements<T>(op.output),
                   op.accumulate);
    });
}

}  // namespace trireme::kernels
