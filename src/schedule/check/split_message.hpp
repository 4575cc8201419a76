// Finds messages whose send, receive and reader are not all repeated after a rollback, although one of them is.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Finds the first activation message that is only partly repeated after a rollback: one or two of its send, its
// receive and its reader are repeated. (The reader is the forward that reads the message. Messages with
// gradients are never repeated.) The fault has the position of the receive. `programs` must be complete.
std::optional<Fault> find_split_message(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
