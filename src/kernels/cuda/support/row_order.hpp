// Rows in the order of the entries of a table that they name; those that name the same one keep their order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels::gpu {

struct NamedRow {
    std::uint32_t entry;  // as many as the table has: none of it
    std::uint32_t row;
};

// A table, or the part of one from entry `first` on.
struct EntryRange {
    std::size_t first = 0;
    std::size_t count = 0;
};

// Of memory that row_order() needs.
std::size_t row_order_bytes(std::size_t rows);

// One for each of `indices`, (rows) i32; those of no entry of the table come last. Lies in `memory`.
const NamedRow* row_order(device::CudaStream& stream, const device::ConstTensor& indices,
                          const EntryRange& entries, std::byte* memory);

}  // namespace trireme::kernels::gpu
