// Memory that ranks share: shared memory of a node, and message buffers without contents in a simulation.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Memory that the ranks of group() share; all of them are on one node. The memory is a file in /dev/shm whose
// name is removed when all ranks have opened it. The file vanishes when the last of them ends, even if it is
// killed. Made by Session::make_node_memory().
class NodeMemory {
public:
    explicit NodeMemory(std::unique_ptr<Communicator> group);
    ~NodeMemory();
    NodeMemory(const NodeMemory&) = delete;
    NodeMemory& operator=(const NodeMemory&) = delete;

    // Collective over group(), whose ranks pass equal `bytes`. Allocates `bytes` zeroed bytes in total for all
    // ranks together. Throws ResourceError if fewer bytes of shared memory are free on the node.
    void allocate(std::size_t bytes);
    // Collective over group(), whose ranks pass equal `bytes`. Like allocate(), but the bytes are only
    // addresses until a rank calls reserve() for them.
    void map(std::size_t bytes);
    // Gives memory to a range of the bytes, which any rank may use afterwards. Returns false if the node has
    // too little shared memory left.
    bool reserve(std::size_t offset, std::size_t bytes);
    std::byte* data() const { return data_; }  // null if nothing is allocated
    // Collective over group(). Frees the memory; allocate() may be called again.
    void release();

    // Returns the free bytes of shared memory on the node; empty if unknown.
    std::optional<std::size_t> free_bytes() const;

    // Collective over group(): a barrier, after which every rank sees what all ranks wrote before.
    void synchronize();

    Communicator& group() { return *group_; }  // the ranks that share the memory

private:
    void unmap();

    std::unique_ptr<Communicator> group_;
    int file_ = -1;
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
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
