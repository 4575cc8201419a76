// Optimizer state that lies at the end of the block with the buffers of a step. State in whose place a step
// puts buffers leaves the block at the begin of the step, and returns when no later buffer of the step uses its
// place.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "trireme/device/offload_store.hpp"
#include "trireme/stage/step_memory.hpp"

namespace trireme::stage {

class StateOffload {
public:
    // The state begins at byte `state_begin` of the block that begins at `block`. `store` has room for the
    // state, and must outlive this object.
    StateOffload(std::byte* block, std::size_t state_begin, device::OffloadStore& store);

    // Begins a step with the buffers of `memory`. All state must be in the block.
    void begin_step(const StepMemory& memory);
    // Called before a buffer of the step is used: waits until the state in its place has left.
    void take(const std::byte* buffer, std::size_t bytes);
    // Called when a buffer is not used any longer.
    void give_back(const std::byte* buffer);
    // Waits until all state has returned.
    void return_all();

private:
    struct Piece {
        std::size_t begin = 0;  // byte of the block
        std::size_t end = 0;
        std::size_t coming_uses = 0;  // buffers of the step that are not given back yet
        std::unique_ptr<device::OffloadStore::Transfer> save = {};
        std::unique_ptr<device::OffloadStore::Transfer> load = {};  // null before the return begins
    };

    template <class Visit>
    void visit_pieces(std::size_t begin, std::size_t end, Visit&& visit);
    void start_return(Piece& piece);

    std::byte* block_;
    std::size_t state_begin_;
    device::OffloadStore& store_;
    std::vector<Piece> pieces_;                            // those that have left in this step, ascending
    std::map<const std::byte*, std::size_t> taken_bytes_;  // sizes of the buffers in use
};

}  // namespace trireme::stage
