// Finds messages of which only some instructions are repeated after a speculative update is rolled back.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Finds the first message with an activation for which some of send, receive and reader are repeated after a
// rollback, and others are not. The fault names the receive. `programs` must be complete.
std::optional<Fault> find_split_message(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
