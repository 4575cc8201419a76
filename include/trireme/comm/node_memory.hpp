// Memory that ranks share: shared memory of a node, and blank memory of a simulation.
#pragma once

#include <cstddef>
#include <optional>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Shared memory of the ranks of a node, made by Session::node_memory().
class NodeMemory {
public:
    virtual ~NodeMemory() = default;  // collective over its ranks, unless an exception ends the job

    // Collective over its ranks. Allocates `bytes`, equal on
    // all ranks. Throws ResourceError if the node has less.
    virtual void take(std::size_t bytes) = 0;
    virtual std::byte* data() const = 0;  // null if nothing is allocated
    // Collective over its ranks. Frees the memory.
    virtual void give_back() = 0;

    virtual std::optional<std::size_t> bytes_left() const = 0;  // free on the node; empty if unknown

    // Collective over its ranks. Afterwards every rank sees what any rank wrote before.
    virtual void settle() = 0;

    virtual Communicator& group() = 0;  // the group of its ranks
};

// Memory for messages of simulated ranks, whose contents the simulator never copies.
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
