// The shape of a pipeline: stages, the teams that hold them, and the team that executes each micro-batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace trireme::schedule {

// A team consists of the ranks that hold a replica together (one rank unless tensors are shared). Its ranks run
// equal programs, so that there is one program per team. A team may hold several stages.
struct PipelineShape {
    int teams = 1;
    int microbatches = 1;  // per step, over all replicas
    int steps = 1;         // covered by the programs; micro-batches are numbered consecutively
    std::vector<std::vector<int>> holders = {{0}};   // per stage: the teams that hold it, one per replica
    std::vector<std::vector<int>> executor = {{0}};  // per stage and micro-batch: a team among the holders
    int slots = 1;                                   // buffers at each end of a channel
    bool is_training = true;                         // false: forward only
    bool updates_alone = false;                      // an update waits for the gradients of its own stage only
    bool validates = false;  // updates are speculative; the VALIDATE of each stage waits for all
    bool ties_ends =
        false;  // the first and the last stage share a tensor: each update needs the gradients of both
    std::vector<int> most_activations = {};  // per team: most micro-batches it may keep, summed over its
                                             // stages; empty if unlimited

    int stages() const { return static_cast<int>(holders.size()); }
    int all_microbatches() const { return steps * microbatches; }
    int step_of(int microbatch) const { return microbatch / microbatches; }
    bool holds(int team, int stage) const;
    // Returns the team that executes the micro-batch in the stage; the same in every step.
    int executor_of(int stage, int microbatch) const {
        return executor[static_cast<std::size_t>(stage)][static_cast<std::size_t>(microbatch % microbatches)];
    }
    // Returns the number of micro-batches of a step that a team executes in a stage.
    int turns_of(int team, int stage) const {
        return static_cast<int>(std::ranges::count(executor[static_cast<std::size_t>(stage)], team));
    }
};

// Returns a grid: `replicas` rows of `pipe` teams with `chunks` stages each. The team at position r of a row
// holds stages r, r + pipe and so on. Each row executes `microbatches_each` consecutive micro-batches, row d
// after those of row d - 1. Team d * pipe + r is the r-th of row d. Throws ConfigError if a number is below 1.
PipelineShape grid_shape(int pipe, int replicas, int chunks, int microbatches_each, bool is_training = true);

// Returns a V: the same with two stages per team. The team at position r of a row holds stages r and
// 2 * pipe - 1 - r, so that the first team has both ends of the model. If pipe is 1, it is a grid with 2
// chunks.
PipelineShape v_shape(int pipe, int replicas, int microbatches_each, bool is_training = true);

// Returns stages with replica numbers of their own. No team holds two stages. Micro-batch m is executed by
// replica m % replicas of each stage. Teams are numbered stage by stage. Throws ConfigError if a number is
// below 1.
PipelineShape uneven_shape(const std::vector<int>& replicas, int microbatches, bool is_training = true);

}  // namespace trireme::schedule
