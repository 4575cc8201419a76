// Lookup: one block of threads per row. Gradients: the rows are sorted by the table entry (token, position or
// type) that they refer to, and divided into runs of 16 rows. In each run, one thread per channel sums the
// rows of each entry. If the rows of an entry extend over several runs, the first of these runs adds its sum to
// the gradient of the entry. The later runs, which continue the entry, store their sums separately. A second
// kernel adds the stored sums to the gradient. The order of the additions depends only on the indices.
#include <algorithm>

#include "kernels/cuda/support/row_order.hpp"
#include "kernels/cuda/support/vectors.cuh"
#include "trireme/kernels/embedding.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;
using gpu::RowEntry;

constexpr unsigned row_threads = 256;

// The rows of a table that this rank holds, and, for each output row, the global index of the table row that
// the output row uses. The first table row of this rank has the global index `first_index`. An absent table has
// no rows.
template <class T>
struct Lookup {
    device::Elements<const T> table;
    const std::int32_t* indices;
    std::size_t first_index;

    // Returns the table row that output row r uses; nullptr if this rank does not hold that table row. An index
    // below `first_index` wraps around to a huge number, which is beyond the rows of this rank.
    __device__ const T* row(std::size_t r) const {
        if (table.rows == 0) return nullptr;
        const std::size_t entry = static_cast<std::size_t>(indices[r]) - first_index;
        return entry < table.rows ? table.row(entry) : nullptr;
    }
};

template <class T>
Lookup<T> make_lookup(const device::ConstTensor& table, const device::ConstTensor& indices,
                      std::size_t first_index = 0) {
    return {gpu::get_elements_or_none<T>(table), gpu::get_elements_or_none<std::int32_t>(indices).data,
            first_index};
}

template <class T>
struct Lookups {
    Lookup<T> tokens;
    Lookup<T> positions;
    Lookup<T> types;
    device::Elements<T> output;
};

template <unsigned width, class T>
__device__ void add(Accumulator<T> (&sum)[width], const T* row, std::size_t column) {
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
        Accumulator<T> sum[width] = {};
        add<width>(sum, token, c);
        add<width>(sum, position, c);
        add<width>(sum, type, c);
        gpu::Vector<T, width> output_vector;
        for (unsigned i = 0; i < width; ++i) output_vector.set(i, sum[i]);
        gpu::store(output + c, output_vector);
    }
}

device::GpuGrid make_lookup_grid(std::size_t rows, std::size_t vectors) {
    const std::size_t warps = std::max(std::size_t{1}, gpu::divide_round_up(vectors, gpu::warp_size));
    return {.blocks_x = gpu::count_blocks(rows, 1),
            .threads = std::min(static_cast<unsigned>(warps) * gpu::warp_size, row_threads)};
}

constexpr unsigned run_rows = 16;  // rows per run; a thread loads them at once
constexpr unsigned run_threads = 256;

// Arguments of add_runs() and add_continued_sums(). A sorted index is a position in `order`.
template <class T>
struct EntrySums {
    const RowEntry* order;  // (grad_output.rows): the rows, sorted by entry
    device::Elements<const T> grad_output;
    device::Elements<Accumulator<T>> grad_table;
    // (runs, columns): sums of the first entry of each run. Runs that continue no entry have no sums.
    Accumulator<T>* continued_sums;

    __device__ Accumulator<T> get_term(std::size_t sorted_index, std::size_t column) const {
        if (sorted_index >= grad_output.rows || order[sorted_index].entry >= grad_table.rows) return 0;
        return static_cast<Accumulator<T>>(grad_output(order[sorted_index].row, column));
    }
    __device__ bool is_end_of_entry(std::size_t sorted_index) const {
        return sorted_index + 1 == grad_output.rows ||
               order[sorted_index + 1].entry != order[sorted_index].entry;
    }
};

template <class T>
__global__ void __launch_bounds__(run_threads) add_runs(EntrySums<T> op) {
    const std::size_t column = std::size_t{blockIdx.y} * blockDim.x + threadIdx.x;
    if (column >= op.grad_output.columns) return;
    const std::size_t begin = std::size_t{blockIdx.x} * run_rows;
    Accumulator<T> terms[run_rows];
#pragma unroll
    for (unsigned i = 0; i < run_rows; ++i) terms[i] = op.get_term(begin + i, column);
    Accumulator<T> sum = 0;
    bool is_continued = begin > 0 && !op.is_end_of_entry(begin - 1);
#pragma unroll
    for (unsigned i = 0; i < run_rows; ++i) {
        const std::size_t sorted_index = begin + i;
        if (sorted_index >= op.grad_output.rows || op.order[sorted_index].entry >= op.grad_table.rows) return;
        sum += terms[i];
        if (i + 1 < run_rows && !op.is_end_of_entry(sorted_index)) continue;
        if (is_continued) {
            op.continued_sums[blockIdx.x * op.grad_output.columns + column] = sum;
        } else {
            op.grad_table(op.order[sorted_index].entry, column) += sum;
        }
        sum = 0;
        is_continued = false;
    }
}

// Returns the sorted index after the last row that has the same entry as order[sorted_index], by binary search.
__device__ std::size_t find_entry_end(const RowEntry* order, std::size_t sorted_index, std::size_t rows) {
    const std::uint32_t entry = order[sorted_index].entry;
    std::size_t end = rows;
    while (sorted_index < end) {
        const std::size_t middle = sorted_index + (end - sorted_index) / 2;
        if (order[middle].entry == entry) {
            sorted_index = middle + 1;
        } else {
            end = middle;
        }
    }
    return end;
}

// Block b of threads belongs to run b + 1. If this run is the first one that continues an entry, the block adds
// the sums of all runs that continue the same entry. Otherwise, the block adds nothing.
template <class T>
__global__ void __launch_bounds__(run_threads) add_continued_sums(EntrySums<T> op) {
    const std::size_t columns = op.grad_output.columns;
    const std::size_t column = std::size_t{blockIdx.y} * blockDim.x + threadIdx.x;
    const std::size_t first_run = std::size_t{blockIdx.x} + 1;
    const std::size_t begin = first_run * run_rows;
    const std::uint32_t entry = op.order[begin].entry;
    const bool is_continued = entry < op.grad_table.rows && !op.is_end_of_entry(begin - 1);
    if (column >= columns || !is_continued) return;
    // If an earlier run continues the same entry, the block of that run adds the sums.
    if (first_run > 1 && op.order[begin - run_rows - 1].entry == entry) return;
    const std::size_t runs =
        gpu::divide_round_up(find_entry_end(op.order, begin, op.grad_output.rows), run_rows);
    Accumulator<T> sum = 0;
#pragma unroll 16
    for (std::size_t run = first_run; run < runs; ++run) sum += op.continued_sums[run * columns + column];
    op.grad_table(entry, column) += sum;
}

template <class T>
void add_to_entries(device::CudaStream& stream, const device::ConstTensor& grad_output,
                    const device::ConstTensor& indices, const device::Tensor& grad_table,
                    std::size_t first_index = 0) {
    using W = Accumulator<T>;
    if (!grad_table.is_present() || !grad_output.is_present()) return;
    const unsigned runs = gpu::count_blocks(grad_output.rows, run_rows);
    const std::size_t continued_bytes = std::size_t{runs} * grad_output.columns * sizeof(W);
    const std::size_t order_begin = gpu::divide_round_up(continued_bytes, sizeof(RowEntry)) * sizeof(RowEntry);
    std::byte* const memory = stream.work->get_scratch(order_begin + gpu::count_sort_bytes(grad_output.rows));
    const EntrySums<T> sums{
        .order = gpu::sort_rows(stream, indices, {first_index, grad_table.rows}, memory + order_begin),
        .grad_output = gpu::get_elements<T>(grad_output),
        .grad_table = gpu::get_elements<W>(grad_table),
        .continued_sums = reinterpret_cast<W*>(memory)};
    device::GpuGrid grid{.blocks_x = runs,
                         .blocks_y = gpu::count_blocks(grad_output.columns, run_threads),
                         .threads = run_threads};
    gpu::launch_kernel(stream, grid, add_runs<T>, sums);
    --grid.blocks_x;  // run 0 continues no entry
    gpu::launch_kernel(stream, grid, add_continued_sums<T>, sums);
}

}  // namespace

void run(device::CudaStream& stream, const Embedding& op) {
    if (!op.output.is_present()) return;
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const Lookups<T> lookups{.tokens = make_lookup<T>(op.token_table, op.tokens, op.first_token),
                                 .positions = make_lookup<T>(op.position_table, op.positions),
                                 .types = make_lookup<T>(op.type_table, op.types),
                                 .output = gpu::get_elements<T>(op.output)};
        const bool may_use_vectors = gpu::may_use_vectors<T>(lookups.tokens.table, lookups.positions.table,
                                                             lookups.types.table, lookups.output);
        gpu::visit_width<T>(may_use_vectors, [&]<unsigned width>(std::integral_constant<unsigned, width>) {
            gpu::launch_kernel(stream, make_lookup_grid(op.output.rows, op.output.columns / width),
                               embed<width, T>, lookups);
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
