// What the steps of a run have shown, for whoever decides. The same on every rank: it is made from what all
// have said.
#pragma once

#include <vector>

#include "trireme/policy/slowness_watch.hpp"
#include "trireme/rank/rank_trainer.hpp"

namespace trireme::adapt {

class Observer {
public:
    explicit Observer(int ranks) : watch_(ranks) {}

    // What an observer of the same ranks has said of them, for how many steps.
    void go_on_from(const std::vector<double>& slowness, std::size_t steady_steps);

    // Notes in `outcome` how slow ranks are. Gives what is new of them.
    std::vector<policy::SlownessChange> add(records::StepOutcome& outcome);

    // Behind a change of plan nothing is known of what ranks take for theirs.
    void begin_plan();

    // When `step` steps have been made.
    plan::Observation observed(std::size_t step) const;

private:
    policy::SlownessWatch watch_;
    double step_seconds_ = 0;             // lately
    std::size_t steady_steps_ = 0;        // since the watch had news
    std::vector<plan::RankTimes> ranks_;  // likewise; empty: there was no step yet
};

}  // namespace trireme::adapt
