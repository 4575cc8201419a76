// Reads many blocks of parts with several threads. Each thread reads some blocks, compares their checksums and
// passes them on, while the system prefetches the next ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "trireme/checkpoint/part_writer.hpp"

namespace trireme::checkpoint {

class PartReader;

// Some rows of a stored box, and the position of the requested columns in them.
struct StoredRows {
    layout::Box box;                   // the requested rows and columns, of the whole tensor
    const std::byte* first = nullptr;  // first element of `box`
    std::size_t stride = 0;            // bytes from one row to the next
};
using UseRows = std::function<void(const StoredRows&)>;

// The rows under one checksum, and the requested part of them.
struct BlockRead {
    const PartReader* part = nullptr;
    std::uint64_t offset = 0;  // in the part's file
    std::size_t bytes = 0;
    std::uint64_t sum = 0;  // index of the checksum
    StateBox box;           // the stored box that contains the rows
    std::size_t first = 0;  // byte of the block where the requested part begins
    std::size_t stride = 0;
    layout::Box wanted;            // of the whole tensor
    const UseRows* use = nullptr;  // called by any of the threads
};

// Reads the blocks in the order of the disk. Uses at least two threads, so that one computes while the other
// waits for the disk; simulated runs use one. Throws what reading or using a block throws.
void carry_out(std::vector<BlockRead> reads, int threads);

}  // namespace trireme::checkpoint
