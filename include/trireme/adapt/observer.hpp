// Averages the measurements of past steps for policies. All ranks compute equal averages, because each rank
// reads the records of all ranks. The slowness of a rank is its time for a matmul relative to other ranks, or 1
// if the rank is not significantly slower.
#pragma once

#include <vector>

#include "trireme/policy/slowness_watch.hpp"
#include "trireme/rank/rank_trainer.hpp"

namespace trireme::adapt {

class Observer {
public:
    explicit Observer(int ranks) : watch_(ranks) {}

    // Resumes with `slowness`: the slowness of each rank, as a checkpoint recorded it. `steady_steps` is the
    // number of steps between the last change of any rank's slowness and the checkpoint.
    void resume_from(const std::vector<double>& slowness, std::size_t steady_steps);

    // Adds the measurements of a step. Writes the slowness of all ranks to `outcome.slowness` if any rank is
    // slow. Returns the changes of slowness that this step causes.
    std::vector<policy::SlownessChange> add(records::StepOutcome& outcome);

    // Called after a change of plan. Discards the ranks' times, which belong to the old plan.
    void begin_plan();

    // Returns the observation after `step` steps.
    plan::Observation make_observation(std::size_t step) const;

private:
    policy::SlownessWatch watch_;
    double step_seconds_ = 0;             // moving average of the duration of a step
    std::size_t steady_steps_ = 0;        // steps since the slowness of any rank last changed
    std::vector<plan::RankTimes> ranks_;  // moving averages per rank; empty before the first step of a plan
};

}  // namespace trireme::adapt
