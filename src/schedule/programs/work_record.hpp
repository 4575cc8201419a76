// A record of the work that the programs of all teams have done so far, each program in its own order.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The work that a team has done so far in a stage that it holds.
struct StageRecord {
    int stage = 0;
    int stashed_activations = 0;  // activations in the stash now: one per in-flight micro-batch
    int peak_activations = 0;     // largest number in the stash so far
    int reduces = 0;              // REDUCEs done, one per step
    int updates = 0;              // STEPs done
    int validations = 0;          // VALIDATEs done
    int max_age = 0;              // age of the oldest weights used, in updates
};

class WorkRecord {
public:
    explicit WorkRecord(const PipelineShape& shape);

    // True if the instruction, or one half of it, was done. Its stage and micro-batch must exist in the shape.
    // A whole backward counts as both halves: has_done_part(2B0) is true after 2I0, and has_done_part(2I0)
    // after 2B0.
    bool has_done_part(const Instruction& instruction) const;

    // Adds an instruction of `team` that was not added before.
    void add(int team, const Instruction& instruction);

    const std::vector<StageRecord>& stage_records(int team) const {
        return stage_records_[static_cast<std::size_t>(team)];
    }
    const StageRecord& find_record(int team, int stage) const;
    bool is_holder(int team, int stage) const;

    // Activations in the stash of a team, summed over its stages: now, and the largest sum so far.
    int stashed_activations(int team) const { return stashed_activations_[static_cast<std::size_t>(team)]; }
    int peak_activations(int team) const { return peak_activations_[static_cast<std::size_t>(team)]; }

    // Largest number of steps whose gradients a team had in memory at once.
    int peak_gradient_steps(int team) const { return peak_gradient_steps_[static_cast<std::size_t>(team)]; }

    // A version of weights is the number of updates before it, at least 0. find_version() returns the version
    // that `compute` uses if it is the next instruction of the team; forward_version() the version that an
    // earlier forward has used.
    int find_version(int team, const Instruction& compute) const;
    int forward_version(int stage, int microbatch) const {
        return forward_versions_[pass_index(stage, microbatch)];
    }

private:
    std::size_t pass_index(int stage, int microbatch) const;
    StageRecord& find_record(int team, int stage);
    void stash_activation(int team, StageRecord& record);
    void release_activation(int team, StageRecord& record);
    void raise_gradient_peak(int team, int step);

    std::size_t microbatches_;
    int microbatches_per_step_;
    bool is_training_;
    std::vector<std::uint8_t> done_bits_;                  // (stage, micro-batch): one bit per kind of work
    std::vector<std::vector<StageRecord>> stage_records_;  // per team, ordered by stage
    std::vector<int> stashed_activations_;                 // per team
    std::vector<int> peak_activations_;
    std::vector<int> peak_gradient_steps_;
    std::vector<int> forward_versions_;  // (stage, micro-batch): version of the weights that the forward used
};

}  // namespace trireme::schedule
