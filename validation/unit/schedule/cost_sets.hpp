// Pipelines with plausible costs of stages and messages, on which searched schedules are compared with fixed
// ones.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

struct CostSet {
    std::string name;
    PipelineShape shape;  // some sets bound its activations
    std::vector<StageCost> costs;
};

// Returns thirty sets. All costs are whole numbers or halves, so that sums of them are exact.
std::vector<CostSet> cost_sets();

}  // namespace trireme::schedule
