// Memory that ranks share: shared memory of a node, and message buffers without contents in a simulation.
#pragma once

#include <cstddef>
#include <optional>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Shared memory of the ranks of a node, made by Session::make_node_memory().
class NodeMemory {
public:
    virtual ~NodeMemory() = default;  // collective over its ranks, unless an exception ends the job

    // Collective over its ranks, which pass equal `bytes`. Allocates `bytes` bytes in total, which all ranks
    // share. Throws ResourceError if fewer bytes of shared memory are free on the node.
    virtual void allocate(std::size_t bytes) = 0;
    virtual std::byte* data() const = 0;  // null if nothing is allocated
    // Collective over its ranks. Frees the memory; allocate() may be called again.
    virtual void release() = 0;

    // Returns the free bytes of shared memory on the node; empty if unknown.
    virtual std::optional<std::size_t> free_bytes() const = 0;

    // Collective over its ranks: a barrier, after which every rank sees what all ranks wrote before.
    virtual void synchronize() = 0;

    virtual Communicator& group() = 0;  // the group of its ranks
};

// Blank memory: a message buffer of simulated ranks that has a size but no contents. The simulator never copies
// the bytes of messages in this buffer.
class BlankMemory {
public:
    explicit BlankMemory(std::size_t bytes);
    ~BlankMemory();
    BlankMemory(const BlankMemory&) = delete;
    BlankMemory& operator=(const BlankMemory&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    void* data_;
};

}  // namespace trireme::comm
