// The times of micro-batches that consist of consecutive samples.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/policy/steps.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::policy {

// Times of one micro-batch, in nanoseconds.
struct MicrobatchTime {
    std::int64_t slowest_stage = 0;
    // The time of a team, summed over its stages and multiplied by its turns (the micro-batches of a step that
    // it executes in the stage): the maximum over the teams. For a grid of R replicas without chunks, this is
    // the time of the slowest stage, multiplied by 1 / R of the micro-batches of a step.
    std::int64_t load = 0;
};

class MicrobatchTimer {
public:
    MicrobatchTimer(const schedule::PipelineShape& shape, StageSums& stages);

    MicrobatchTime find(const plan::MicrobatchShape& shape);
    plan::PassTimes find_stage(int stage, const plan::MicrobatchShape& shape);

private:
    StageSums& stages_;
    std::vector<std::vector<std::int64_t>>
        turns_of_teams_;               // per kind of team: turns per entry of StageSums::sums
    std::vector<std::int64_t> times_;  // per entry of StageSums::sums
};

}  // namespace trireme::policy
