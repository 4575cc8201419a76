// Collects the step outcomes of all ranks of a ghost run. No messages are needed, because the ranks share
// one process.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "trireme/records/step_outcome.hpp"

namespace trireme::run {

class GhostRecords {
public:
    explicit GhostRecords(int ranks) : ranks_(ranks) {}

    // Adds the outcome of a step on `rank`. In `own_outcome`, the lists with one entry per rank have only the
    // entry of `rank`, or no entry. Each rank adds its steps in order. The last rank that adds a step calls
    // `record` with the combined outcome. The combined outcome has the `seconds` of the slowest rank, the mean
    // compute and waiting times, and the sums of `padded_tokens` and `work`.
    void add(int rank, const records::StepOutcome& own_outcome,
             const std::function<void(records::StepOutcome&)>& record);

private:
    struct Step {
        records::StepOutcome outcome;
        int added_ranks = 0;  // number of ranks that have added the step
    };

    int ranks_;
    std::map<std::size_t, Step> steps_;  // by step number; only steps that some ranks have not added yet
};

}  // namespace trireme::run
