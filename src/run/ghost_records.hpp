// Collects the step outcomes of all ranks of a ghost run. No messages are needed, since the ranks share one
// process.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "trireme/records/step_outcome.hpp"

namespace trireme::run {

class GhostRecords {
public:
    explicit GhostRecords(int ranks) : ranks_(ranks) {}

    // Adds the outcome of a step on `rank`. If all ranks have now added this step, calls `record` with the
    // combined outcome of all ranks: its `seconds` are those of the slowest rank, its compute and waiting times
    // are averages. Steps are recorded in order.
    void add(int rank, const records::StepOutcome& own_outcome,
             const std::function<void(records::StepOutcome&)>& record);

private:
    struct Step {
        records::StepOutcome outcome;
        int ranks = 0;  // number of ranks that have added the step
    };

    int ranks_;
    std::map<std::size_t, Step> steps_;  // steps that some ranks have not added yet
};

}  // namespace trireme::run
