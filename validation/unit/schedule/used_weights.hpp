// Which weights the passes of written programs use.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule::written {

// For each instruction of a team's program: how many updates of its stage had been made to the weights that it
// uses. Of compute instructions; others use none, and have a 0.
std::vector<int> weights_used(const Program& program);

// Empty, or an objection: the passes of a micro-batch through a stage use unlike weights, or through all stages
// where these are not updated alone. Wants programs to which there is no objection otherwise.
std::string objection_to_weights(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule::written
