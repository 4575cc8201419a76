// The page that a report is.
#pragma once

#include <string>

#include "report/run_records.hpp"

namespace trireme::report {

// A whole HTML file, style sheet and drawings included.
std::string page(const RunRecords& records);

}  // namespace trireme::report
