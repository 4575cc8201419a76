// Memory that the calls of a rank's stages share, one after the other.
#pragma once

#include "trireme/device/buffer.hpp"

namespace trireme {

// Bytes that a stage holds while it works.
struct StageMemory {
    std::size_t activations = 0;  // kept of one micro-batch
    std::size_t scratch = 0;      // within one layer's pass
    std::size_t again = 0;     // of a block whose forward pass is done again, or whose activations nobody reads
    std::size_t exchange = 0;  // with the other tensor ranks
};

// The larger of each.
StageMemory larger_of(const StageMemory& a, const StageMemory& b);

struct Workspace {
    // Capacities are `memory`'s.
    Workspace(const StageMemory& memory, Place place)
        : scratch("scratch", memory.scratch, place),
          again("recompute", memory.again, place),
          exchange("tensor exchange", memory.exchange, place) {}

    Arena scratch;
    Arena again;
    Arena exchange;
};

}  // namespace trireme
