// Predicts the times of a micro-batch from its shape.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/policy/steps.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::policy {

// Times of one micro-batch, in nanoseconds.
struct MicrobatchTime {
    std::int64_t slowest_stage = 0;
    // Largest load of a team. The load of a team is a sum over its stages: the time of the stage, multiplied by
    // the team's turns (the number of micro-batches of a step that the team executes in the stage). For a grid
    // of R replicas without chunks, `load` is `slowest_stage` * (micro-batches of a step) / R.
    std::int64_t load = 0;
};

class MicrobatchTimer {
public:
    MicrobatchTimer(const schedule::PipelineShape& shape, StageSums& stages);

    MicrobatchTime find(const plan::MicrobatchShape& shape);
    plan::PassTimes find_stage(int stage, const plan::MicrobatchShape& shape);

private:
    StageSums& stages_;
    // Teams with equal turns have one common row.
    std::vector<std::vector<std::int64_t>>
        turns_of_teams_;               // [row][entry of StageSums::sums]: turns in the stages of this entry
    std::vector<std::int64_t> times_;  // workspace of find(): one time per entry of StageSums::sums
};

}  // namespace trireme::policy
