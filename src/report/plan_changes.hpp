// What changed the plan of a run, why, and what came of it.
#pragma once

#include <string>

#include "report/run_records.hpp"

namespace trireme::report {

// The table has a row for each change: the layouts before and after, and the gain by the median of the first
// steps after the change. It is empty if the plan never changed.
std::string changes_table(const RunRecords& records);

}  // namespace trireme::report
