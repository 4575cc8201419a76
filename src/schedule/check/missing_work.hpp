// What programs lack at their end.
#pragma once

#include <optional>
#include <vector>

#include "schedule/programs/work_record.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// `done` is the record of all of `programs`, none of whose instructions breaks a rule of its own. The fault is
// a compute instruction, a send, a REDUCE, a STEP or a VALIDATE that is not there.
std::optional<Fault> missing_work(const std::vector<Program>& programs, const PipelineShape& shape,
                                  const WorkRecord& done);

}  // namespace trireme::schedule
