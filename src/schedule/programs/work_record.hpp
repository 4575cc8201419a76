// What programs have done so far, each in its own order.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// A stage that a team holds.
struct HeldStage {
    int stage = 0;
    int kept = 0;       // activations
    int most_kept = 0;  // at any time until now
    int reduces = 0;    // REDUCEs, of one step after the other; likewise STEPs, VALIDATEs:
    int updates = 0;
    int validations = 0;
    int oldest = 0;  // age of the oldest weights that were used
};

class WorkRecord {
public:
    explicit WorkRecord(const PipelineShape& shape);

    // Of an instruction that names a stage and a micro-batch of the shape. A whole backward is both its halves:
    // has_part_of(2B0) is true after 2I0, and has_part_of(2I0) after 2B0.
    bool has_part_of(const Instruction& instruction) const;

    // `instruction` is at its team, and new.
    void add(int team, const Instruction& instruction);

    const std::vector<HeldStage>& held_by(int team) const { return held_[static_cast<std::size_t>(team)]; }
    const HeldStage& held(int team, int stage) const;
    bool holds(int team, int stage) const;

    // Activations of a team, counted over its stages.
    int kept(int team) const { return kept_[static_cast<std::size_t>(team)]; }
    int most_kept(int team) const { return most_kept_[static_cast<std::size_t>(team)]; }

    // Steps whose gradients a team had in memory at once, at most.
    int most_gradients(int team) const { return most_gradients_[static_cast<std::size_t>(team)]; }

    // The weights that a compute instruction uses if it is the team's next, and those that a forward before has
    // used: the number of updates that made them. There are none older than the first.
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
    std::vector<std::uint8_t> marks_;           // (stage, micro-batch): a bit for each kind of work
    std::vector<std::vector<HeldStage>> held_;  // per team, in the order of the stages
    std::vector<int> kept_;                     // per team
    std::vector<int> most_kept_;
    std::vector<int> most_gradients_;
    std::vector<int> versions_;  // (stage, micro-batch): of the weights that its forward used
};

}  // namespace trireme::schedule
