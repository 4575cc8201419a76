// The initial rules of a rule search.
#pragma once

#include <vector>

#include "schedule/programs/stage_holdings.hpp"
#include "schedule/search/list_rule.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Returns rules that differ enough for one of them to be close to the best rule. Rules that are often good come
// first. `costs` has one entry per stage.
std::vector<ListRule> make_initial_rules(const PipelineShape& shape, const StageHoldings& holdings,
                                         const std::vector<StageCost>& costs);

}  // namespace trireme::schedule
