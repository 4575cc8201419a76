// Runs one point of a study.
#pragma once

#include "row.hpp"

namespace trireme::studies {

// Runs the point with the executable `program`, and also its comparison run if the study has one. Skips a run
// that the folder `records` already has; writes the output of the others there. Returns the row of the point.
// If a run fails, the row has its error message, and the next call tries the run again.
Row make_row(const Study& study, const Point& point, const std::string& program,
             const std::filesystem::path& records);

}  // namespace trireme::studies
