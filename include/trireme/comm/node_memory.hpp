// Memory that the ranks of a node share. Session makes it.
#pragma once

#include <cstddef>

#include "trireme/comm/communicator.hpp"

namespace trireme {

class NodeMemory {
public:
    virtual ~NodeMemory() = default;  // collective over its ranks

    // Collective over its ranks, who all ask for the same. What was in there is lost where it grows. Throws
    // ResourceError where the node has no more.
    virtual void reserve(std::size_t bytes) = 0;
    virtual std::byte* data() const = 0;

    // Collective over its ranks: behind it all read what any of them has written before.
    virtual void settle() = 0;

    virtual Communicator& group() = 0;  // of its ranks
};

}  // namespace trireme
