// A record of the work that programs have done so far, each in its own order.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The record of a stage that a team holds.
struct HeldStage {
    int stage = 0;
    int kept = 0;         // activations kept now
    int most_kept = 0;    // most kept at any time so far
    int reduces = 0;      // REDUCEs done, one per step
    int updates = 0;      // STEPs done
    int validations = 0;  // VALIDATEs done
    int oldest = 0;       // age of the oldest weights used, in updates
};

class WorkRecord {
public:
    explicit WorkRecord(const PipelineShape& shape);

    // True if the instruction, or a half of it, was done. It must name a stage and a micro-batch of the shape.
    // A whole backward counts as both halves: has_part_of(2B0) is true after 2I0, and has_part_of(2I0) after
    // 2B0.
    bool has_part_of(const Instruction& instruction) const;

    // Adds an instruction that is new, and whose team is `team`.
    void add(int team, const Instruction& instruction);

    const std::vector<HeldStage>& held_by(int team) const { return held_[static_cast<std::size_t>(team)]; }
    const HeldStage& held(int team, int stage) const;
    bool holds(int team, int stage) const;

    // Activations of a team, summed over its stages: kept now, and at most so far.
    int kept(int team) const { return kept_[static_cast<std::size_t>(team)]; }
    int most_kept(int team) const { return most_kept_[static_cast<std::size_t>(team)]; }

    // Largest number of steps whose gradients a team had in memory at once.
    int most_gradients(int team) const { return most_gradients_[static_cast<std::size_t>(team)]; }

    // Weights as the number of updates that made them, at least 0. version_of() returns those that a compute
    // instruction uses if it is the team's next; version_used() those that an earlier forward has used.
    int version_of(int team, const Instruction& compute) const;
    int version_used(int stage, int microbatch) const { return versions_[index(stage, microbatch)]; }

private:
    std::size_t index(int stage, int microbatch) const;
    HeldStage& held(int team, int stage);
    void keep(int team, HeldStage& stage);
    void release(int team, HeldStage& stage);
    void count_gradients(int team, int step);

    std::size_t microbatches_;
    int microbatches_of_step_;
    bool is_training_;
    std::vector<std::uint8_t> marks_;           // (stage, micro-batch): one bit per kind of work
    std::vector<std::vector<HeldStage>> held_;  // per team, in the order of the stages
    std::vector<int> kept_;                     // per team
    std::vector<int> most_kept_;
    std::vector<int> most_gradients_;
    std::vector<int> versions_;  // (stage, micro-batch): weights that its forward used
};

}  // namespace trireme::schedule
