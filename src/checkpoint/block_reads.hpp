// Reads blocks of parts with several threads. A part is the file of one rank in a checkpoint; a block consists
// of the rows of a part that one checksum covers. Each thread reads some blocks, compares their checksums with
// the recorded ones and passes the contents to a callback, while the operating system prefetches other blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "trireme/checkpoint/part_writer.hpp"

namespace trireme::checkpoint {

class PartReader;

// Rows that were read from a file, and the position of the requested elements in them.
struct StoredRows {
    layout::Box box;                   // the requested elements, in coordinates of the whole tensor
    const std::byte* first = nullptr;  // first requested element
    std::size_t stride = 0;            // bytes from one row to the next
};
using UseRows = std::function<void(const StoredRows&)>;

// A block, and the requested elements in it.
struct BlockRead {
    const PartReader* part = nullptr;
    std::uint64_t offset = 0;          // byte offset of the block in the file
    std::size_t bytes = 0;             // size of the block
    std::uint64_t checksum_index = 0;  // index of the block's checksum in the part's list
    StateBox box;                      // the stored box that contains the block
    std::size_t first = 0;             // offset of the first requested element in the block, in bytes
    std::size_t stride = 0;            // bytes from one row to the next
    layout::Box requested_box;         // in coordinates of the whole tensor
    const UseRows* use = nullptr;      // called with the requested elements, by any of the threads
};

// Reads the blocks in the order of files and offsets and calls their `use`. Uses at least two threads for two
// or more blocks: one thread then computes checksums while another waits for the disk. Throws what reading a
// block or `use` throws.
void read_blocks(std::vector<BlockRead> reads, int threads);

}  // namespace trireme::checkpoint
