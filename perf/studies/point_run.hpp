// Runs one point of a study.
#pragma once

#include "row.hpp"

namespace trireme::studies {

// Runs the point, and its comparison run if the study has one, unless `records` already has them. Their output
// goes to `records`. The row of a failed run has its error message; the run is tried again next time.
Row make_row(const Study& study, const Point& point, const std::string& program,
             const std::filesystem::path& records);

}  // namespace trireme::studies
