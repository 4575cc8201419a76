// Sorts rows by the table entry that they refer to. The sort is stable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels::gpu {

// A row and the table entry that it refers to.
struct RowEntry {
    // The index of the entry minus EntryRange::first; EntryRange::count if this rank does not hold the entry.
    std::uint32_t entry;
    std::uint32_t row;
};

// This rank holds the entries [first, first + count) of a table.
struct EntryRange {
    std::size_t first = 0;
    std::size_t count = 0;
};

// Returns the bytes of GPU memory that sort_rows() needs.
std::size_t count_sort_bytes(std::size_t rows);

// Returns the rows sorted by entry. Row r refers to entry indices[r]; `indices` is a vector of i32 in GPU
// memory. Rows whose entry this rank does not hold come last. The result is stored in `memory`; the caller
// ensures that `memory` has count_sort_bytes() bytes.
const RowEntry* sort_rows(device::CudaStream& stream, const device::ConstTensor& indices,
                          const EntryRange& entries, std::byte* memory);

}  // namespace trireme::kernels::gpu
