// The tables of a report, in HTML.
#pragma once

#include <string>

#include "report/run_records.hpp"

namespace trireme::report {

std::string figures_table(const Summary& summary);    // of merit: value, limit, remark
std::string machine_table(const Manifest& manifest);  // empty where the manifest is

}  // namespace trireme::report
