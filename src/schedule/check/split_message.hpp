// Messages one end of which is done again, where a guess was wrong, and the other is not.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The first receive whose send, or whose reader, stands on the other side of its team's VALIDATEs. `programs`
// are complete.
std::optional<Fault> split_message(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
