// Memory that the ranks of a node share. Session makes it.
#pragma once

#include <cstddef>
#include <optional>

#include "trireme/comm/communicator.hpp"

namespace trireme {

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

}  // namespace trireme
