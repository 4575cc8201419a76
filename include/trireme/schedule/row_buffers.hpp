// Counts the row buffers that a program needs in addition to its activation stash.
#pragma once

#include <cstddef>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns the largest number of (rows, width) buffers in use at once. `program` belongs to `team` and is
// proved.
//
// - A received tensor has a buffer from the posting on. An activation holds it until the backward (or weight
//   half) of its stage, or until the forward that reads it if there is no backward. A gradient holds it until
//   that backward, too.
// - The gradient that a backward or input half makes has a buffer until it has been sent. If the same team has
//   the stage before, it holds the buffer until the backward of that stage.
//
// Messages are assumed to complete as late as possible, with all slots of their channel in use.
std::size_t most_row_buffers(const Program& program, int team, const PipelineShape& shape);

}  // namespace trireme::schedule
