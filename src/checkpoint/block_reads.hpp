// Reading many blocks of parts by several threads: each reads some blocks, holds them to their sums and hands
// them on, while the system fetches those behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "trireme/checkpoint/part_writer.hpp"

namespace trireme::checkpoint {

class PartReader;

// Some rows of a stored box, and where the columns that are wanted lie in them.
struct StoredRows {
    layout::Box box;                   // what is wanted of them, of the whole tensor
    const std::byte* first = nullptr;  // its first element
    std::size_t stride = 0;            // bytes from one row to the next
};
using UseRows = std::function<void(const StoredRows&)>;

// Rows that lie under one sum, and what is wanted of them.
struct BlockRead {
    const PartReader* part = nullptr;
    std::uint64_t offset = 0;  // in the part
    std::size_t bytes = 0;
    std::uint64_t sum = 0;  // its number
    StateBox box;           // that it is of
    std::size_t first = 0;  // byte of the block where what is wanted begins
    std::size_t stride = 0;
    layout::Box wanted;            // of the whole tensor
    const UseRows* use = nullptr;  // called by any of the threads
};

// In the order of the disk. Two threads at least, if time is not simulated: one works while the other waits for
// the disk. Throws what reading or using a block throws.
void carry_out(std::vector<BlockRead> reads, int threads);

}  // namespace trireme::checkpoint
