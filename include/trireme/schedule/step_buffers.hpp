// The buffers that a team uses while it executes a program, when each buffer is in use, and the offsets of the
// buffers in one block of memory.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

//   workspace   temporaries of a compute instruction
//   stash       the activations that a forward keeps for the backward of the same stage and micro-batch
//   rows        an activation or a gradient of shape (rows of a micro-batch, width of the model), received from
//               another team or computed by a backward
enum class BufferKind : std::uint8_t { workspace, stash, rows };

struct BufferUse {
    BufferKind kind = BufferKind::workspace;
    Instruction taker;  // the instruction that takes the buffer
    // The buffer is in use during the instructions [begin, end); both are indices of the program.
    std::size_t begin = 0;
    std::size_t end = 0;

    bool overlaps(const BufferUse& other) const { return begin < other.end && other.begin < end; }
};

// Returns the buffers of `team` in the order in which they are taken. `program` is the program of the team, in
// which verify_programs() has found no fault. `empty_microbatches` has one entry per micro-batch of a step,
// which is true if the micro-batch has no samples, so that its instructions are skipped; the list may be empty
// if all micro-batches have samples.
//
// - A compute instruction uses its workspace until its end.
// - A stash is in use until the backward (or weight half) of its stage ends. If its stage has no backward, a
//   stash has only the output of the stage. In the last stage, such a stash is in use until the forward ends.
//   If the same team executes the next stage, it is in use until the forward of that stage ends, or its
//   backward (or weight half) if that stage is trained. Otherwise it is in use until the output has been sent.
// - A received tensor uses a buffer from the posting of its receive until the stage that reads the tensor ends
//   its backward (or weight half). Without a backward, a received activation uses the buffer until the forward
//   of this stage ends.
// - The gradient that a backward or input half computes for a trained stage uses a buffer until the gradient
//   has been sent. If the same team executes the previous stage, the gradient uses the buffer until the
//   backward (or weight half) of the previous stage ends.
//
// Messages complete as late as the engine permits: when their channel needs the slot, or at the end of the
// program.
std::vector<BufferUse> list_buffer_uses(const Program& program, int team, const PipelineShape& shape,
                                        const std::vector<bool>& empty_microbatches = {});

// Returns the largest number of buffers of a kind that are in use at once.
std::size_t count_buffers_in_use(const std::vector<BufferUse>& uses, BufferKind kind);

// Offsets of buffers in one block of memory. Buffers that are in use at the same time do not overlap.
struct BufferPlacement {
    std::vector<std::size_t> offsets;  // one per buffer, in bytes; multiples of 64
    std::size_t bytes = 0;             // of the block of memory
};

// Places the buffers of `uses`, which are in the order in which they are taken. `bytes` has the size of each
// buffer. Equal arguments give equal placements on all ranks. The block has at least the size of all buffers
// that are in use at any one time, and usually hardly more. It is never larger than this sum over the kinds:
// the largest size of a buffer, times the number of buffers in use at once.
BufferPlacement place_buffers(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes);

// True if place_buffers() needs at most `limit` bytes. Takes less time.
bool can_place_buffers(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes,
                       std::size_t limit);

// True if buffers of different steps may be in use at the same time. If the result is false, a team that
// completes its messages of a step before the STEPs has no buffer in use at the STEPs.
bool have_steps_common_buffers(const Phases& phases, int microbatches);

}  // namespace trireme::schedule
