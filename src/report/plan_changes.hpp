// What changed the plan of a run, why, and what came of it.
#pragma once

#include <string>

#include "report/run_records.hpp"

namespace trireme::report {

// One row for each change: the layouts before and after, and what it gained; empty: there was none. A step is
// said to have taken the median of the first steps after the change.
std::string changes_table(const RunRecords& records);

}  // namespace trireme::report
