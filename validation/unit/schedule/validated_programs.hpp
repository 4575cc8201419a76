// What is wrong with programs whose updates are validated, however they are executed: work that stands where it
// may not, and messages that do not come twice at both ends where all validations fail.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule::written {

// Wants programs that have all their work, messages and collectives once, each at its team.
std::string objection_to_validation(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule::written
