// How long a step takes at least.
#pragma once

#include <vector>

#include "schedule/programs/stage_holdings.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Whatever the order of work: every team waits until something can have come to it, and then does all that it
// has to do; the sums of its gradients and the updates follow.
double least_duration(const PipelineShape& shape, const StageHoldings& holdings,
                      const std::vector<StageCost>& costs);

}  // namespace trireme::schedule
