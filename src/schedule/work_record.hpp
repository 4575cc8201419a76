// What programs have done so far, each in its own order.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

// A stage that a team holds.
struct HeldStage {
    int stage = 0;
    int to_do = 0;      // micro-batches that the team executes
    int done = 0;       // of those, with all backward work
    int kept = 0;       // activations
    int most_kept = 0;  // at any time until now
    bool is_reduced = false;
    bool is_stepped = false;
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

private:
    std::size_t index(int stage, int micro_batch) const;
    HeldStage& held(int team, int stage);
    void keep(int team, HeldStage& stage);
    void release(int team, HeldStage& stage);

    std::size_t micro_batches_;
    bool is_training_;
    std::vector<std::uint8_t> marks_;           // (stage, micro-batch): a bit for each kind of work
    std::vector<std::vector<HeldStage>> held_;  // per team, in the order of the stages
    std::vector<int> kept_;                     // per team
    std::vector<int> most_kept_;
};

}  // namespace trireme
