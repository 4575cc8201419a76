// Counts the buffers that a program needs for sent and received tensors, in addition to its activation stash.
#pragma once

#include <cstddef>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns the largest number of buffers that `team` uses at once. A buffer has the shape (rows of a
// micro-batch, width of the model). `program` is the program of `team`, in which verify_programs() has found no
// fault.
//
// - A received tensor uses a buffer from the posting of its receive until the stage that reads the tensor ends
//   its backward (or weight half). Without a backward, a received activation uses the buffer until the forward
//   of this stage ends.
// - The gradient that a backward or input half computes uses a buffer until the gradient has been sent. If the
//   same team executes the previous stage, the gradient uses the buffer until the backward (or weight half) of
//   the previous stage ends.
//
// Messages are assumed to complete as late as possible, with all slots of their channel in use.
std::size_t count_row_buffers(const Program& program, int team, const PipelineShape& shape);

}  // namespace trireme::schedule
