// Collects the step outcomes of ghosts without messages, since they share one process.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "trireme/records/step_outcome.hpp"

namespace trireme::run {

class GhostRecords {
public:
    explicit GhostRecords(int ranks) : ranks_(ranks) {}

    // Adds the outcome of a step on `rank`. After the last rank has added its own, calls `record` with the
    // outcome of all ranks. Steps are recorded in order.
    void add(int rank, const records::StepOutcome& own,
             const std::function<void(records::StepOutcome&)>& record);

private:
    struct Step {
        records::StepOutcome outcome;
        int ranks = 0;
    };

    int ranks_;
    std::map<std::size_t, Step> steps_;  // steps that some ranks have not added yet
};

}  // namespace trireme::run
