// The buffers of the passes and messages of a rank. They lie in one block of memory, at the places that
// step_memory.hpp plans for each step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/stage/state_offload.hpp"
#include "trireme/stage/step_memory.hpp"

namespace trireme::stage {

class PassBuffers {
public:
    // In MemorySpace::ghost, buffers have addresses but no memory.
    PassBuffers(const LocalWork& work, device::MemorySpace memory_space);

    // Sets the sizes and the limit to those of `work`. Called while no buffer is in use.
    void change(const LocalWork& work);
    // Allocates the memory for every step that the limit allows. Called while no buffer is in use. Without this
    // call, memory is allocated when a step needs more than all steps before it.
    void reserve() { reserve(max_block_bytes()); }

    // Returns the memory of the optimizer state that may be offloaded; without a buffer if there is none. At
    // first, this memory is no part of the block.
    const device::BufferPart& state_memory() const { return state_; }
    // Moves this state by way of `store` to the end of the block, from which steps may then offload it to
    // `store`. `store` must outlive the use of this object. `place` is called twice: first without a buffer,
    // and must then give up the old memory of the state, and at last with the new memory.
    using PlaceState = std::function<void(device::BufferPart)>;
    void move_state_into_block(device::OffloadStore& store, const PlaceState& place);
    // Moves the state to memory of its own, and frees the block.
    void move_state_out_of_block(device::OffloadStore& store, const PlaceState& place);
    // Waits until all offloaded state has returned. Called before the state is used.
    void return_state();

    // Begins an execution of `program`, the program of the team for one step. Both arguments must outlive the
    // execution.
    void begin(const schedule::Program& program, const schedule::PipelineShape& shape);
    // Plans the memory of the next step, and starts to offload the optimizer state in whose place the step puts
    // buffers. Throws BugError if the step needs more memory than the limit allows.
    void add_step(const StepWork& work);
    void forget_step(int step) { steps_.erase(step); }

    // Moves the arenas of workspace() to the memory that is planned for a compute instruction.
    void begin_pass(const schedule::Instruction& instruction);
    void end_pass();
    Workspace& workspace() { return workspace_; }

    std::unique_ptr<ActivationStash> take_stash(const schedule::Instruction& forward);
    void give_back(std::unique_ptr<ActivationStash>& stash);  // makes `stash` null
    // Returns a contiguous tensor (rows, width) for an activation or a gradient. `taker` receives or computes
    // it.
    device::Tensor take_rows(const schedule::Instruction& taker, std::size_t rows);
    void give_back(device::Tensor& rows);  // makes `rows` absent; does nothing if it is absent

    // Returns the end of the highest tensor in the block since begin(); 0 in MemorySpace::ghost.
    std::size_t peak_bytes() const { return peak_bytes_; }

private:
    struct Buffer {
        std::byte* memory = nullptr;
        StageMemory sizes = {};
        std::size_t bytes = 0;
    };

    bool is_ghost() const { return memory_space_ == device::MemorySpace::ghost; }
    // True if the buffers of the instruction's step have no places, because a ghost needs none.
    bool lacks_places(const schedule::Instruction& instruction) const {
        return is_ghost() && !steps_.contains(shape_->find_step(instruction.microbatch));
    }
    std::size_t state_begin() const { return max_bytes_ - offloadable_bytes_; }
    std::size_t max_block_bytes() const { return offload_ ? max_bytes_ : state_begin(); }
    bool uses_equal_buffers() const { return work_equal_buffers_ && shape_->is_training; }
    void reserve(std::size_t bytes);
    void move_state(device::OffloadStore& store, const PlaceState& place,
                    const std::function<device::BufferPart()>& allocate);
    Buffer take(schedule::BufferKind kind, const schedule::Instruction& taker);
    Buffer take_equal_buffer(schedule::BufferKind kind);
    void free(schedule::BufferKind kind, std::byte* memory);
    void record_use(const std::byte* memory, std::size_t bytes);

    int rank_;  // in the job
    int team_;
    StepMemoryPlanner planner_;
    std::optional<EqualBuffers> work_equal_buffers_;
    std::size_t max_bytes_;
    std::size_t offloadable_bytes_;  // see LocalWork
    device::DType dtype_;
    std::size_t width_;  // of the model
    device::MemorySpace memory_space_;
    std::shared_ptr<device::Buffer> block_;  // never null
    device::BufferPart state_;               // see state_memory()
    std::optional<StateOffload> offload_;    // empty while no state is in the block
    Workspace workspace_;
    const std::byte* workspace_memory_ = nullptr;  // of the current pass

    // The current execution.
    const schedule::Program* program_ = nullptr;
    const schedule::PipelineShape* shape_ = nullptr;
    std::map<int, StepMemory> steps_;  // only if steps have no common buffers; on ghosts, those that offload
    int steps_added_ = 0;
    std::map<schedule::BufferKind, std::vector<std::byte*>> free_buffers_;  // of equal buffers
    std::size_t buffers_in_use_ = 0;                                        // without workspaces
    std::size_t peak_bytes_ = 0;
};

}  // namespace trireme::stage
