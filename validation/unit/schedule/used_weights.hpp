// Finds which weights the passes of written programs use.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule::written {

// Returns for each compute instruction of a team's program how many updates of its stage precede the weights
// that it uses. Other instructions use no weights and have a 0.
std::vector<int> find_used_versions(const Program& program);

// Returns an objection if passes of a micro-batch through a stage use different weights, otherwise an empty
// string. Unless stages are updated independently, the passes through all stages must agree. Frozen stages have
// only one version of their weights. Requires programs without other objections.
std::string find_weight_objection(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule::written
