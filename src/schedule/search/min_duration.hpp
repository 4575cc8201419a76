// A lower bound on the duration of a step.
#pragma once

#include <vector>

#include "schedule/programs/stage_holdings.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Returns a lower bound on the duration of a training step, for any order of instructions. Every team is
// assumed to wait for its first input, then to execute all its forwards and backwards without a pause, then to
// reduce the gradients of only one of its stages: the stage with the shortest reduction. STEPs begin after the
// reductions of all teams. `costs` has one entry per stage.
double compute_min_duration(const PipelineShape& shape, const StageHoldings& holdings,
                            const std::vector<StageCost>& costs);

}  // namespace trireme::schedule
