// What ghosts say of their steps. They share one process, so it takes no messages.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "trireme/records/step_outcome.hpp"

namespace trireme {

class GhostRecords {
public:
    // `tell` is called with each step's outcome, in order, when all `ranks` have added theirs.
    GhostRecords(int ranks, std::function<void(StepOutcome&)> tell) : ranks_(ranks), tell_(std::move(tell)) {}

    // How a step went on this rank.
    void add(int rank, const StepOutcome& own);

private:
    struct Step {
        StepOutcome outcome;
        int ranks = 0;
    };

    int ranks_;
    std::function<void(StepOutcome&)> tell_;
    std::map<std::size_t, Step> steps_;  // that not all have added to
};

}  // namespace trireme
