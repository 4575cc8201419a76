// What ghosts say of their steps. They share one process, so it takes no messages.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "trireme/records/step_outcome.hpp"

namespace trireme::run {

class GhostRecords {
public:
    explicit GhostRecords(int ranks) : ranks_(ranks) {}

    // Adds how a step went on this rank. Calls `record` with the outcome of the step, in the order of the
    // steps, when all ranks have added theirs.
    void add(int rank, const records::StepOutcome& own,
             const std::function<void(records::StepOutcome&)>& record);

private:
    struct Step {
        records::StepOutcome outcome;
        int ranks = 0;
    };

    int ranks_;
    std::map<std::size_t, Step> steps_;  // that not all have added to
};

}  // namespace trireme::run
