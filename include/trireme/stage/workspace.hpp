// The sizes of the buffers of a pass, and the buffers for its temporaries.
#pragma once

#include <cstddef>

#include "trireme/device/buffer.hpp"

namespace trireme::stage {

// Bytes of the buffers that the passes of a stage need for one micro-batch.
struct StageMemory {
    std::size_t activations = 0;        // activation stash
    std::size_t scratch = 0;            // temporaries of a layer's pass, and gradients between layers
    std::size_t block_activations = 0;  // activations of one transformer block that is recomputed or evaluated
    std::size_t exchange = 0;           // temporaries of collectives of the tensor group

    // Returns the bytes of a workspace: all fields but `activations`, each in whole cache lines.
    std::size_t count_workspace_bytes() const;
};

StageMemory elementwise_max(const StageMemory& a, const StageMemory& b);  // per field, the larger value

// The temporaries of a pass. The passes of all stages of a rank share one workspace.
struct Workspace {
    Workspace(const StageMemory& memory, device::MemorySpace memory_space)
        : scratch("scratch", memory.scratch, memory_space),
          block_activations("recompute", memory.block_activations, memory_space),
          exchange("tensor exchange", memory.exchange, memory_space) {}

    // Makes the arenas allocate in `memory`, which has sizes.count_workspace_bytes() bytes.
    void move_to(std::byte* memory, const StageMemory& sizes);
    // Returns the bytes from `memory` to the highest byte that any tensor has used since move_to().
    std::size_t count_used_bytes() const;

    device::Arena scratch;
    device::Arena block_activations;
    device::Arena exchange;

private:
    StageMemory sizes_ = {};  // of move_to()
};

}  // namespace trireme::stage
