// Memory that ranks share: that of a node, and blank memory of a simulation.
#pragma once

#include <cstddef>
#include <optional>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Memory that the ranks of a node share. Session makes it.
class NodeMemory {
public:
    virtual ~NodeMemory() = default;  // collective over its ranks, unless the job ends by an exception

    // Collective over its ranks, who all ask for the same. Throws ResourceError where the node has not so much.
    virtual void take(std::size_t bytes) = 0;
    virtual std::byte* data() const = 0;
    // Collective over its ranks. There is none of it again.
    virtual void give_back() = 0;

    virtual std::optional<std::size_t> bytes_left() const = 0;  // that could be taken; none: nobody knows

    // Collective over its ranks: behind it all read what any of them has written before.
    virtual void settle() = 0;

    virtual Communicator& group() = 0;  // of its ranks
};

// So many bytes, of which the simulator copies none, however large a message is.
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
