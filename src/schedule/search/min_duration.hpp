// A lower bound on the duration of a step.
#pragma once

#include <vector>

#include "schedule/programs/stage_holdings.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Returns a lower bound for any order of instructions: every team waits until its first input can arrive, and
// then executes all its forwards and backwards without waiting; gradient reductions and updates follow.
double compute_min_duration(const PipelineShape& shape, const StageHoldings& holdings,
                            const std::vector<StageCost>& costs);

}  // namespace trireme::schedule
