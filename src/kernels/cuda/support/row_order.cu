// A stable radix sort that begins with the least significant digit. A pass sorts all rows by
// one digit of 8 bits. In a pass, a block of threads processes a tile of 256 rows: thread t moves row t of the
// tile, and counts the rows of the tile whose digit is t.
#include <bit>
#include <utility>

#include "kernels/cuda/support/language.cuh"
#include "kernels/cuda/support/row_order.hpp"

namespace trireme::kernels::gpu {
namespace {

constexpr unsigned digit_bits = 8;
constexpr unsigned digits = 1U << digit_bits;  // number of digit values, rows per tile, and threads per block

device::GpuGrid make_tile_grid(std::size_t rows) {
    return {.blocks_x = count_blocks(rows, digits), .threads = digits};
}

__global__ void __launch_bounds__(digits) write_row_entries(const std::int32_t* indices, std::size_t rows,
                                                            EntryRange entries, RowEntry* row_entries) {
    const std::size_t r = std::size_t{blockIdx.x} * digits + threadIdx.x;
    if (r >= rows) return;
    const std::size_t entry = static_cast<std::size_t>(indices[r]) - entries.first;
    row_entries[r] = {static_cast<std::uint32_t>(entry < entries.count ? entry : entries.count),
                      static_cast<std::uint32_t>(r)};
}

// One pass of the sort, by one digit.
struct DigitPass {
    const RowEntry* from;
    RowEntry* to;
    std::size_t rows;
    unsigned* counts;  // (tiles, digits): number of rows with each digit in each tile
    unsigned shift;    // first bit of the digit

    // Rows beyond the last one have the digit `digits`, which no thread counts.
    __device__ unsigned get_digit(std::size_t row) const {
        return row < rows ? from[row].entry >> shift & (digits - 1) : digits;
    }
};

__global__ void __launch_bounds__(digits) count_digits(DigitPass pass) {
    __shared__ unsigned digit_of_row[digits];
    digit_of_row[threadIdx.x] = pass.get_digit(std::size_t{blockIdx.x} * digits + threadIdx.x);
    __syncthreads();
    unsigned count = 0;
    for (unsigned row = 0; row < digits; ++row) count += digit_of_row[row] == threadIdx.x ? 1U : 0U;
    pass.counts[std::size_t{blockIdx.x} * digits + threadIdx.x] = count;
}

// The new position of a row is the number of rows that come before it: all rows with smaller digits, the rows
// with the same digit in earlier tiles, and the preceding rows with the same digit in its own tile.
__global__ void __launch_bounds__(digits) sort_by_digit(DigitPass pass) {
    __shared__ unsigned digit_of_row[digits];
    __shared__ unsigned digit_totals[digits];
    __shared__ unsigned digit_begins[digits];  // new position of this tile's first row with each digit
    const std::size_t own_row = std::size_t{blockIdx.x} * digits + threadIdx.x;
    const unsigned digit = pass.get_digit(own_row);
    unsigned begin = 0;
    unsigned total = 0;
    for (unsigned tile = 0; tile < gridDim.x; ++tile) {
        const unsigned count = pass.counts[std::size_t{tile} * digits + threadIdx.x];
        begin += tile < blockIdx.x ? count : 0;
        total += count;
    }
    digit_of_row[threadIdx.x] = digit;
    digit_totals[threadIdx.x] = total;
    __syncthreads();
    unsigned preceding_rows = 0;
    for (unsigned other = 0; other < threadIdx.x; ++other) {
        begin += digit_totals[other];
        preceding_rows += digit_of_row[other] == digit ? 1U : 0U;
    }
    digit_begins[threadIdx.x] = begin;
    __syncthreads();
    if (own_row < pass.rows) pass.to[digit_begins[digit] + preceding_rows] = pass.from[own_row];
}

}  // namespace

std::size_t count_sort_bytes(std::size_t rows) {
    return 2 * rows * sizeof(RowEntry) + divide_round_up(rows, digits) * digits * sizeof(unsigned);
}

const RowEntry* sort_rows(device::CudaStream& stream, const device::ConstTensor& indices,
                          const EntryRange& entries, std::byte* memory) {
    const std::size_t rows = indices.columns;
    RowEntry* sorted_entries = reinterpret_cast<RowEntry*>(memory);
    RowEntry* spare_entries = sorted_entries + rows;
    auto* const counts = reinterpret_cast<unsigned*>(spare_entries + rows);
    const device::GpuGrid tiles = make_tile_grid(rows);
    launch_kernel(stream, tiles, write_row_entries, get_elements<std::int32_t>(indices).data, rows, entries,
                  sorted_entries);
    // The greatest key is entries.count. The digits beyond the highest digit of this number need no pass.
    for (unsigned shift = 0; entries.count >> shift > 0; shift += digit_bits) {
        const DigitPass pass{
            .from = sorted_entries, .to = spare_entries, .rows = rows, .counts = counts, .shift = shift};
        launch_kernel(stream, tiles, count_digits, pass);
        launch_kernel(stream, tiles, sort_by_digit, pass);
        std::swap(sorted_entries, spare_entries);
    }
    return sorted_entries;
}

}  // namespace trireme::kernels::gpu
