// Plans where the buffers of a step are in the memory of a rank. The sizes of the buffers follow from the
// shapes of the step's micro-batches.
#pragma once

#include <compare>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/schedule/step_buffers.hpp"
#include "trireme/stage/local_work.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::stage {

// Identifies a buffer of a step: its kind, and the instruction that takes it.
struct BufferKey {
    schedule::BufferKind kind = schedule::BufferKind::workspace;
    schedule::Op op = schedule::Op::forward;
    int stage = 0;
    int microbatch = 0;  // numbered within the step

    friend auto operator<=>(const BufferKey&, const BufferKey&) = default;
};

// The buffers of a step in one block of memory.
struct StepMemory {
    struct Place {
        std::size_t offset = 0;
        std::size_t bytes = 0;
        StageMemory sizes = {};  // of a stash or a workspace
    };
    std::map<BufferKey, Place> places;
    std::size_t bytes = 0;  // of the block of memory
};

// The backward passes that a program contains: none in an evaluation, otherwise whole ones, the halves of split
// ones, or both kinds.
enum class BackwardPasses : std::uint8_t { none, whole, split, both };

BackwardPasses find_backward_passes(const schedule::Program& program);

class StepMemoryPlanner {
public:
    explicit StepMemoryPlanner(const LocalWork& work);

    // Returns the places of all buffers of a step, or of an evaluation. `program` is the program of `team` for
    // one step. The team may be another one with the same stages and shares. `shape` describes one step, and
    // `batches` has one entry per micro-batch; an entry has 0 rows if the micro-batch is empty, or if the team
    // does not execute it. Without `levels`, the result is not larger than EqualBuffers for the largest
    // micro-batch.
    StepMemory plan_step(const schedule::Program& program, int team, const schedule::PipelineShape& shape,
                         const std::vector<BatchShape>& batches,
                         const std::vector<plan::MicrobatchLevels>& levels = {});
    // True if plan_step() without `levels` needs at most `max_bytes`. Takes less time.
    bool can_hold_step(const schedule::Program& program, int team, const schedule::PipelineShape& shape,
                       const std::vector<BatchShape>& batches, std::size_t max_bytes);

    // Returns the memory of one micro-batch in the stage with index `s` of LocalWork::stages. peak.activations
    // is the size of the stash. `levels` has the recomputation per block; empty: that of the stage.
    TrainingMemory predict_stage(std::size_t s, const BatchShape& batch, BackwardPasses passes,
                                 const std::vector<plan::Recompute>& levels = {});
    // Returns the kinds of the blocks of the stage with index `s`. Blocks of equal kinds need equal memory.
    const std::vector<std::size_t>& block_kinds(std::size_t s) const { return blocks_[s]; }
    // Returns the memory of one micro-batch in a block of a kind.
    const TrainingMemory& predict_block(std::size_t kind, plan::Recompute level, const BatchShape& batch,
                                        BackwardPasses passes);
    // Returns the bytes of an activation or a gradient that the rank exchanges with another stage.
    std::size_t count_row_bytes(const BatchShape& batch) const;

private:
    // The index of a kind of block, its recomputation, the backward passes, and the rows and samples of the
    // micro-batch. The memory does not depend on the number of targets, so that the head of a model is
    // predicted with all targets.
    using MemoryKey = std::tuple<std::size_t, plan::Recompute, BackwardPasses, std::size_t, std::size_t>;

    // The buffers of a step, without their places.
    struct StepBuffers {
        std::vector<schedule::BufferUse> uses;
        std::vector<StepMemory::Place> places;  // per use; without offsets
        std::vector<std::size_t> bytes;         // per use
    };
    StepBuffers list_buffers(const schedule::Program& program, int team, const schedule::PipelineShape& shape,
                             const std::vector<BatchShape>& batches,
                             const std::vector<plan::MicrobatchLevels>& levels);

    model::ModelConfig model_;
    std::vector<int> stages_;
    std::vector<StageSpec> specs_;  // per stage
    PassVariant variant_;
    std::vector<StageSpec> kinds_;                  // stages of one block each, without equal ones
    std::vector<std::vector<std::size_t>> blocks_;  // per stage: the kind of each block
    std::vector<std::size_t> frozen_blocks_;        // per stage: number of its first blocks that are frozen
    std::map<MemoryKey, TrainingMemory> known_;
    // By the kind of a block, its recomputation, and the order of its backward halves.
    std::map<std::tuple<std::size_t, plan::Recompute, BackwardHalves>, TrainingPredictor> predictors_;
};

}  // namespace trireme::stage
