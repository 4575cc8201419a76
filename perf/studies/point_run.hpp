// The runs of one point of a study.
#pragma once

#include "row.hpp"

namespace trireme::studies {

// Runs the point, and the one beside it where the study has such, unless `records` has them; what they say goes
// to `records`. A run that fails has its sentence in the row, and is tried again next time.
Row row_of(const Study& study, const Point& point, const std::string& program,
           const std::filesystem::path& records);

}  // namespace trireme::studies
