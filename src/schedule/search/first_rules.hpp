// Rules to begin with.
#pragma once

#include <vector>

#include "schedule/programs/stage_holdings.hpp"
#include "schedule/search/list_rule.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// So different that one of them is near to the best; those that most often are come first.
std::vector<ListRule> first_rules(const PipelineShape& shape, const StageHoldings& holdings,
                                  const std::vector<StageCost>& costs);

}  // namespace trireme::schedule
