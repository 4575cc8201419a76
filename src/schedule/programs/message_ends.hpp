// The two ends of a message.
#pragma once

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

// The team at the other end of a send or a receive, whose stage has that neighbour.
int peer_of(const Instruction& message, const PipelineShape& shape);

Instruction send_of(const Instruction& receive);
Instruction receive_of(const Instruction& send);

}  // namespace trireme
