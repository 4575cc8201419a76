// Finds instructions that are missing in programs.
#pragma once

#include <optional>
#include <vector>

#include "schedule/programs/work_record.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Finds a compute instruction, a send, a REDUCE, a STEP or a VALIDATE that is missing. `done` is the record of
// all `programs`, in which find_broken_rule() found no fault.
std::optional<Fault> find_missing_work(const std::vector<Program>& programs, const PipelineShape& shape,
                                       const WorkRecord& done);

}  // namespace trireme::schedule
