// Finds instructions that are missing in programs.
#pragma once

#include <optional>
#include <vector>

#include "schedule/programs/work_record.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Finds the first compute instruction, send, REDUCE, STEP or VALIDATE that is missing. `done` is the record of
// all `programs`. find_broken_rule() must have found no fault in the programs. Receives are not tested, because
// find_broken_rule() requires the receive of each input.
std::optional<Fault> find_missing_work(const std::vector<Program>& programs, const PipelineShape& shape,
                                       const WorkRecord& done);

}  // namespace trireme::schedule
