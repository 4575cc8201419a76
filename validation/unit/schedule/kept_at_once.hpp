// Counts what accepted programs keep in memory, according to the contract (trireme/schedule/check.hpp).
#pragma once

#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule::written {

Proof count_peaks(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule::written
