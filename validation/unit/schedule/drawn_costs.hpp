// Random costs of stages, for tests of results that depend on costs.
#pragma once

#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::schedule {

// Returns the shape with enough slots that no message ever waits for one.
inline PipelineShape with_enough_slots(PipelineShape shape) {
    shape.slots = shape.microbatches * shape.stages();
    return shape;
}

// Returns costs of 0 to 9 units each. Tenths are no binary fractions, so they show every rounding.
inline std::vector<StageCost> draw_costs(const PipelineShape& shape, Draw& draw, double unit = 0.1) {
    const auto cost = [&] { return unit * draw.within(0, 9); };
    std::vector<StageCost> costs(shape.holders.size());
    for (StageCost& each : costs) {
        each = {.forward = cost(),
                .backward_input = cost(),
                .backward_weight = cost(),
                .send = cost(),
                .reduce = cost(),
                .step = cost()};
    }
    return costs;
}

}  // namespace trireme::schedule
