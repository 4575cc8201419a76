// A stable radix sort that begins with the least significant digit. A block sorts a tile of rows by one digit.
// It has as many threads as the tile has rows, which is also the number of values of a digit.
#include <bit>
#include <utility>

#include "kernels/cuda/support/language.cuh"
#include "kernels/cuda/support/row_order.hpp"

namespace trireme::kernels::gpu {
namespace {

constexpr unsigned digit_bits = 8;
constexpr unsigned digits = 1U << digit_bits;

device::GpuGrid tiles_of(std::size_t rows) { return {.blocks_x = blocks_for(rows, digits), .threads = digits}; }

__global__ void __launch_bounds__(digits)
    name_rows(const std::int32_t* indices, std::size_t rows, EntryRange entries, NamedRow* named) {
    const std::size_t r = std::size_t{blockIdx.x} * digits + threadIdx.x;
    if (r >= rows) return;
    const std::size_t entry = static_cast<std::size_t>(indices[r]) - entries.first;
    named[r] = {static_cast<std::uint32_t>(entry < entries.count ? entry : entries.count),
                static_cast<std::uint32_t>(r)};
}

struct Pass {
    const NamedRow* from;
    NamedRow* to;
    std::size_t rows;
    unsigned* counts;  // (tiles, digits): number of rows of the tile with each digit
    unsigned shift;    // first bit of the digit

    // Rows beyond the last one have the digit `digits`, which no thread counts.
    __device__ unsigned digit_of(std::size_t row) const {
        return row < rows ? from[row].entry >> shift & (digits - 1) : digits;
    }
};

__global__ void __launch_bounds__(digits) count_digits(Pass pass) {
    __shared__ unsigned digit_of_row[digits];
    digit_of_row[threadIdx.x] = pass.digit_of(std::size_t{blockIdx.x} * digits + threadIdx.x);
    __syncthreads();
    unsigned count = 0;
    for (unsigned row = 0; row < digits; ++row) count += digit_of_row[row] == threadIdx.x ? 1U : 0U;
    pass.counts[std::size_t{blockIdx.x} * digits + threadIdx.x] = count;
}

// A row is placed after all rows with smaller digits, and after the rows with its digit that precede it in
// earlier tiles and in its own tile.
__global__ void __launch_bounds__(digits) sort_by_digit(Pass pass) {
    __shared__ unsigned digit_of_row[digits];
    __shared__ unsigned rows_with[digits];
    __shared__ unsigned begin_of[digits];  // position of this tile's first row with each digit
    const std::size_t own = std::size_t{blockIdx.x} * digits + threadIdx.x;
    const unsigned digit = pass.digit_of(own);
    unsigned begin = 0;
    unsigned all = 0;
    for (unsigned tile = 0; tile < gridDim.x; ++tile) {
        const unsigned count = pass.counts[std::size_t{tile} * digits + threadIdx.x];
        begin += tile < blockIdx.x ? count : 0;
        all += count;
    }
    digit_of_row[threadIdx.x] = digit;
    rows_with[threadIdx.x] = all;
    __syncthreads();
    unsigned before = 0;
    for (unsigned other = 0; other < threadIdx.x; ++other) {
        begin += rows_with[other];
        before += digit_of_row[other] == digit ? 1U : 0U;
    }
    begin_of[threadIdx.x] = begin;
    __syncthreads();
    if (own < pass.rows) pass.to[begin_of[digit] + before] = pass.from[own];
}

}  // namespace

std::size_t row_order_bytes(std::size_t rows) {
    return 2 * rows * sizeof(NamedRow) + parts(rows, digits) * digits * sizeof(unsigned);
}

const NamedRow* row_order(device::CudaStream& stream, const device::ConstTensor& indices,
                          const EntryRange& entries, std::byte* memory) {
    const std::size_t rows = indices.columns;
    NamedRow* sorted = reinterpret_cast<NamedRow*>(memory);
    NamedRow* free = sorted + rows;
    auto* const counts = reinterpret_cast<unsigned*>(free + rows);
    const device::GpuGrid tiles = tiles_of(rows);
    start(stream, tiles, name_rows, elements<std::int32_t>(indices).data, rows, entries, sorted);
    for (unsigned shift = 0; entries.count >> shift > 0; shift += digit_bits) {
        const Pass pass{.from = sorted, .to = free, .rows = rows, .counts = counts, .shift = shift};
        start(stream, tiles, count_digits, pass);
        start(stream, tiles, sort_by_digit, pass);
        std::swap(sorted, free);
    }
    return sorted;
}

}  // namespace trireme::kernels::gpu
