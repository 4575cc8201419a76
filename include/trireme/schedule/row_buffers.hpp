// How many buffers for rows a program needs beside the activations it keeps: counted by walking it.
#pragma once

#include <cstddef>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Buffers of (rows, width) that are in use at once, at most, in the program of `team`, which has been proved:
//
// - what a receive brings has one from the posting on: an activation until the backward (or weight half) of its
//   stage, or the forward that reads it where there is no backward; a gradient until that backward, too;
// - the gradient that a backward or input half makes has one until it has been sent or, where the same team has
//   the stage before, until the backward of that stage.
//
// Messages are taken to leave as late as they may, with all slots of their channel in use.
std::size_t most_row_buffers(const Program& program, int team, const PipelineShape& shape);

}  // namespace trireme::schedule
