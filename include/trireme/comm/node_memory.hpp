// Memory that ranks share: shared memory of a node, and message buffers without contents in a simulation.
#pragma once

#include <cstddef>
#include <optional>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Memory that the ranks of group() share; all of them are on one node. Made by Session::make_node_memory().
class NodeMemory {
public:
    virtual ~NodeMemory() = default;  // collective over group(), unless an exception ends the job

    // Collective over group(), whose ranks pass equal `bytes`. Allocates `bytes` bytes in total for all ranks
    // together. Throws ResourceError if fewer bytes of shared memory are free on the node.
    virtual void allocate(std::size_t bytes) = 0;
    virtual std::byte* data() const = 0;  // null if nothing is allocated
    // Collective over group(). Frees the memory; allocate() may be called again.
    virtual void release() = 0;

    // Returns the free bytes of shared memory on the node; empty if unknown.
    virtual std::optional<std::size_t> free_bytes() const = 0;

    // Collective over group(): a barrier, after which every rank sees what all ranks wrote before.
    virtual void synchronize() = 0;

    virtual Communicator& group() = 0;  // the ranks that share the memory
};

// Blank memory: a message buffer of simulated ranks. Blank memory has a size but no contents, because the
// simulator never copies the bytes of a message in such a buffer.
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
