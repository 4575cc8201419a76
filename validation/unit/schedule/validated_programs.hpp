// Faults of programs with validated updates in any order of execution: misplaced work, and messages that are
// not repeated at both ends if all validations fail.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule::written {

// Returns an objection, or an empty string. Requires programs that contain all their work, messages and
// collectives once, each in the program of its team.
std::string find_validation_objection(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule::written
