// Averages the measurements of past steps for policies. Equal on every rank, because it reads the gathered
// records of all ranks.
#pragma once

#include <vector>

#include "trireme/policy/slowness_watch.hpp"
#include "trireme/rank/rank_trainer.hpp"

namespace trireme::adapt {

class Observer {
public:
    explicit Observer(int ranks) : watch_(ranks) {}

    // Takes over the slowness that an earlier observer of the same ranks has found, and the steps that it has
    // lasted.
    void go_on_from(const std::vector<double>& slowness, std::size_t steady_steps);

    // Adds a step and writes the slowness of the ranks to `outcome`, unless no rank is slow. Returns the
    // changes.
    std::vector<policy::SlownessChange> add(records::StepOutcome& outcome);

    // Called after a change of plan. Discards the times of the ranks, which belong to the old plan.
    void begin_plan();

    // Returns the observation after `step` steps.
    plan::Observation observed(std::size_t step) const;

private:
    policy::SlownessWatch watch_;
    double step_seconds_ = 0;             // moving average
    std::size_t steady_steps_ = 0;        // steps since a rank's slowness last changed
    std::vector<plan::RankTimes> ranks_;  // moving averages; empty before the first step of a plan
};

}  // namespace trireme::adapt
