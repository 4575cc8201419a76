// Finds messages of which only one end is repeated after a wrong guess of a speculative update.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Finds the first receive whose send, or whose reader, stands on the other side of its team's VALIDATEs.
// `programs` must be complete.
std::optional<Fault> split_message(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
