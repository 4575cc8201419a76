// A record of the work that teams have done. The instructions of a team are recorded in the order of its
// program. Instructions of different teams may be recorded in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The work that a team has done in one of its stages.
struct StageRecord {
    int stage = 0;
    int stashed_activations = 0;  // size of the activation stash: one entry per in-flight micro-batch
    int peak_activations = 0;     // the largest value that stashed_activations has had
    int reduces = 0;              // REDUCEs done, one per step
    int updates = 0;              // STEPs done
    int validations = 0;          // VALIDATEs done
    int max_age = 0;              // age of the oldest weights used, in updates
};

class WorkRecord {
public:
    explicit WorkRecord(const PipelineShape& shape);

    // True if the instruction, or one half of it, was done. The instruction must have a micro-batch, and its
    // stage and micro-batch must exist in the shape. An unsplit backward contains both halves.
    // Therefore the result for an unsplit backward is true after either half, and the result for a half is true
    // after the unsplit backward.
    bool has_done_any_part(const Instruction& instruction) const;

    // Adds the next instruction of the program of `team`. The team must hold the stage of the instruction. Each
    // kind of work on a micro-batch may be added only once per stage.
    void add(int team, const Instruction& instruction);

    // Returns one record per stage that the team holds, ordered by stage.
    const std::vector<StageRecord>& stage_records(int team) const {
        return stage_records_[static_cast<std::size_t>(team)];
    }
    const StageRecord& find_record(int team, int stage) const;  // `team` must hold `stage`
    bool is_holder(int team, int stage) const;

    // Return the number of stashed activations of a team, summed over its stages, and the largest value of this
    // sum so far.
    int stashed_activations(int team) const { return stashed_activations_[static_cast<std::size_t>(team)]; }
    int peak_activations(int team) const { return peak_activations_[static_cast<std::size_t>(team)]; }

    // Largest number of steps whose gradients a team had in memory at once; see Proof in check.hpp.
    int peak_gradient_steps(int team) const { return peak_gradient_steps_[static_cast<std::size_t>(team)]; }

    // The version of weights is the number of updates that they include. After u updates of a stage, its
    // weights of age a have version max(0, u - a). find_version() returns the version that
    // `compute_instruction` uses if the team executes this instruction next. forward_version() returns the
    // version that a recorded forward has used.
    int find_version(int team, const Instruction& compute_instruction) const;
    int forward_version(int stage, int microbatch) const {
        return forward_versions_[pass_index(stage, microbatch)];
    }

private:
    std::size_t pass_index(int stage, int microbatch) const;
    StageRecord& find_record(int team, int stage);
    void stash_activation(int team, StageRecord& record);
    void release_activation(int team, StageRecord& record);
    void raise_gradient_peak(int team, int step);

    std::size_t microbatches_;  // over all steps
    int microbatches_per_step_;
    int first_trained_stage_;  // the number of stages if the programs only run forward
    std::vector<std::uint8_t> done_bits_;                  // (stage, micro-batch): one bit per kind of work
    std::vector<std::vector<StageRecord>> stage_records_;  // per team, ordered by stage
    std::vector<int> stashed_activations_;                 // per team
    std::vector<int> peak_activations_;                    // per team
    std::vector<int> peak_gradient_steps_;                 // per team
    std::vector<int> forward_versions_;  // (stage, micro-batch): version of the weights that the forward used
};

}  // namespace trireme::schedule
