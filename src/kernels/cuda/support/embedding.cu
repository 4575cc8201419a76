// Lookup: one block per row. Gradients: the rows are sorted by table entry and divided into runs. Each run has
// one thread per channel, which sums the rows of each entry. If an entry began in an earlier run, its sum is
// stored separately and added after all runs. The order of the sums therefore depends only on the indices.
#include <algorithm>

#include "kernels/cuda/support/row_order.hpp"
#include "kernels/cuda/support/vectors.cuh"
#include "trireme/kernels/embedding.hpp"

namespace trireme::kernels {
namespace {

using gpu::NamedRow;
using gpu::Wide;

constexpr unsigned row_threads = 256;

// A table, or the part of one that begins with row `first`; without rows if the table is absent.
template <class T>
struct Lookup {
    device::Elements<const T> table;
    const std::int32_t* indices;
    std::size_t first;

    // Returns nullptr if the table does not hold the row.
    __device__ const T* row(std::size_t r) const {
        if (table.rows == 0) return nullptr;
        const std::size_t entry = static_cast<std::size_t>(indices[r]) - first;
        return entry < table.rows ? table.row(entry) : nullptr;
    }
};

template <class T>
Lookup<T> lookup(const device::ConstTensor& table, const device::ConstTensor& indices, std::size_t first = 0) {
    return {gpu::elements_or_none<T>(table), gpu::elements_or_none<std::int32_t>(indices).data, first};
}

template <class T>
struct Lookups {
    Lookup<T> tokens;
    Lookup<T> positions;
    Lookup<T> types;
    device::Elements<T> output;
};

template <unsigned width, class T>
__device__ void add(Wide<T> (&sum)[width], const T* row, std::size_t column) {
    if (row == nullptr) return;
    const auto terms = gpu::load<width>(row + column);
    for (unsigned i = 0; i < width; ++i) sum[i] += terms[i];
}

template <unsigned width, class T>
__global__ void __launch_bounds__(row_threads) embed(Lookups<T> op) {
    const T* const token = op.tokens.row(blockIdx.x);
    const T* const position = op.positions.row(blockIdx.x);
    const T* const type = op.types.row(blockIdx.x);
    T* const output = op.output.row(blockIdx.x);
    for (std::size_t c = threadIdx.x * width; c < op.output.columns; c += blockDim.x * width) {
        Wide<T> sum[width] = {};
        add<width>(sum, token, c);
        add<width>(sum, position, c);
        add<width>(sum, type, c);
        gpu::Vector<T, width> rounded;
        for (unsigned i = 0; i < width; ++i) rounded.set(i, sum[i]);
        gpu::store(output + c, rounded);
    }
}

device::GpuGrid block_a_row(std::size_t rows, std::size_t vectors) {
    const std::size_t warps = std::max(std::size_t{1}, gpu::parts(vectors, gpu::warp_size));
    return {.blocks_x = gpu::blocks_for(rows, 1),
            .threads = std::min(static_cast<unsigned>(warps) * gpu::warp_size, row_threads)};
}

constexpr unsigned run_rows = 16;  // rows per run; a thread loads them at once
constexpr unsigned run_threads = 256;

template <class T>
struct EntrySums {
    const NamedRow* order;  // (grad_output.rows)
    device::Elements<const T> grad_output;
    device::Elements<Wide<T>> table;
    Wide<T>* continued;  // (runs, columns): sum of the run's first entry if it began in an earlier run

    __device__ Wide<T> term(std::size_t place, std::size_t column) const {
        if (place >= grad_output.rows || order[place].entry >= table.rows) return 0;
        return static_cast<Wide<T>>(grad_output(order[place].row, column));
    }
    __device__ bool is_end_of_entry(std::size_t place) const {
        return place + 1 == grad_output.rows || order[place + 1].entry != order[place].entry;
    }
};

template <class T>
__global__ void __launch_bounds__(run_threads) add_runs(EntrySums<T> op) {
    const std::size_t column = std::size_t{blockIdx.y} * blockDim.x + threadIdx.x;
    if (column >= op.grad_output.columns) return;
    const std::size_t begin = std::size_t{blockIdx.x} * run_rows;
    Wide<T> terms[run_rows];
#pragma unroll
    for (unsigned i = 0; i < run_rows; ++i) terms[i] = op.term(begin + i, column);
    Wide<T> sum = 0;
    bool is_continued = begin > 0 && !op.is_end_of_entry(begin - 1);
#pragma unroll
    for (unsigned i = 0; i < run_rows; ++i) {
        const std::size_t place = begin + i;
        if (place >= op.grad_output.rows || op.order[place].entry >= op.table.rows) return;
        sum += terms[i];
        if (i + 1 < run_rows && !op.is_end_of_entry(place)) continue;
        if (is_continued) {
            op.continued[blockIdx.x * op.grad_output.columns + column] = sum;
        } else {
            op.table(op.order[place].entry, column) += sum;
        }
        sum = 0;
        is_continued = false;
    }
}

// Returns the end of the rows that have the same entry as the row at `place`.
__device__ std::size_t end_of_entry(const NamedRow* order, std::size_t place, std::size_t rows) {
    const std::uint32_t entry = order[place].entry;
    std::size_t end = rows;
    while (place < end) {
        const std::size_t middle = place + (end - place) / 2;
        if (order[middle].entry == entry) {
            place = middle + 1;
        } else {
            end = middle;
        }
    }
    return end;
}

// The block of the first run that continues an entry adds the sums of all runs that continue it.
template <class T>
__global__ void __launch_bounds__(run_threads) add_continued(EntrySums<T> op) {
    const std::size_t columns = op.grad_output.columns;
    const std::size_t column = std::size_t{blockIdx.y} * blockDim.x + threadIdx.x;
    const std::size_t first_run = std::size_t{blockIdx.x} + 1;
    const std::size_t begin = first_run * run_rows;
    const std::uint32_t entry = op.order[begin].entry;
    const bool is_continued = entry < op.table.rows && !op.is_end_of_entry(begin - 1);
    if (column >= columns || !is_continued) return;
    if (first_run > 1 && op.order[begin - run_rows - 1].entry == entry) return;
    const std::size_t runs = gpu::parts(end_of_entry(op.order, begin, op.grad_output.rows), run_rows);
    Wide<T> sum = 0;
#pragma unroll 16
    for (std::size_t run = first_run; run < runs; ++run) sum += op.continued[run * columns + column];
    op.table(entry, column) += sum;
}

template <class T>
void add_to_entries(device::CudaStream& stream, const device::ConstTensor& grad_output,
                    const device::ConstTensor& indices, const device::Tensor& table, std::size_t first = 0) {
    using W = Wide<T>;
    if (!table.is_present() || !grad_output.is_present()) return;
    const unsigned runs = gpu::blocks_for(grad_output.rows, run_rows);
    const std::size_t continued_bytes = std::size_t{runs} * grad_output.columns * sizeof(W);
    const std::size_t order_begin = gpu::parts(continued_bytes, sizeof(NamedRow)) * sizeof(NamedRow);
    std::byte* const memory = stream.work->scratch(order_begin + gpu::row_order_bytes(grad_output.rows));
    const EntrySums<T> sums{.order = gpu::row_order(stream, indices, {first, table.rows}, memory + order_begin),
                            .grad_output = gpu::elements<T>(grad_output),
                            .table = gpu::elements<W>(table),
                            .continued = reinterpret_cast<W*>(memory)};
    device::GpuGrid grid{.blocks_x = runs,
                         .blocks_y = gpu::blocks_for(grad_output.columns, run_threads),
                         .threads = run_threads};
    gpu::start(stream, grid, add_runs<T>, sums);
    --grid.blocks_x;
    gpu::start(stream, grid, add_continued<T>, sums);
}

}  // namespace

void run(device::CudaStream& stream, const Embedding& op) {
    if (!op.output.is_present()) return;
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const Lookups<T> lookups{.tokens = lookup<T>(op.token_table, op.tokens, op.first_token),
                                 .positions = lookup<T>(op.position_table, op.positions),
                                 .types = lookup<T>(op.type_table, op.types),
                                 .output = gpu::elements<T>(op.output)};
        const bool has_vectors = gpu::has_vectors<T>(lookups.tokens.table, lookups.positions.table,
                                                     lookups.types.table, lookups.output);
        gpu::visit_width<T>(has_vectors, [&]<unsigned width>(std::integral_constant<unsigned, width>) {
            gpu::start(stream, block_a_row(op.output.rows, op.output.columns / width), embed<width, T>,
                       lookups);
        });
    });
}

void run(device::CudaStream& stream, const EmbeddingBackward& op) {
    gpu::visit_type(op.grad_output.dtype, [&]<class T>(T) {
        add_to_entries<T>(stream, op.grad_output, op.tokens, op.grad_token_table, op.first_token);
        add_to_entries<T>(stream, op.grad_output, op.positions, op.grad_position_table);
        add_to_entries<T>(stream, op.grad_output, op.types, op.grad_type_table);
    });
}

}  // namespace trireme::kernels
