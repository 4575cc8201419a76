// Finds work that is missing in programs.
#pragma once

#include <optional>
#include <vector>

#include "schedule/programs/work_record.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Finds a compute instruction, a send, a REDUCE, a STEP or a VALIDATE that is missing. `done` is the record of
// all of `programs`, none of whose instructions breaks a rule of its own.
std::optional<Fault> missing_work(const std::vector<Program>& programs, const PipelineShape& shape,
                                  const WorkRecord& done);

}  // namespace trireme::schedule
