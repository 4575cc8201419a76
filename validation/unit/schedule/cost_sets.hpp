// Pipelines whose stages and messages cost what they might cost: what searched schedules are measured by.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

struct CostSet {
    std::string name;
    PipelineShape shape;  // with bounds on activations, in some
    std::vector<StageCost> costs;
};

// Thirty. All costs are whole numbers or halves, so that sums of them are exact.
std::vector<CostSet> cost_sets();

}  // namespace trireme::schedule
