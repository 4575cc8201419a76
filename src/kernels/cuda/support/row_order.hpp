// Sorts rows by the table entry that they refer to. The sort is stable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels::gpu {

struct NamedRow {
    std::uint32_t entry;  // equals the number of entries if the row refers to none of the table
    std::uint32_t row;
};

// Entries [first, first + count), the part of a table on this rank.
struct EntryRange {
    std::size_t first = 0;
    std::size_t count = 0;
};

// Returns the bytes of memory that row_order() needs.
std::size_t row_order_bytes(std::size_t rows);

// Returns the rows sorted by entry, one for each of `indices`, (rows) i32. Rows without entry in the table come
// last. The result is stored in `memory`.
const NamedRow* row_order(device::CudaStream& stream, const device::ConstTensor& indices,
                          const EntryRange& entries, std::byte* memory);

}  // namespace trireme::kernels::gpu
