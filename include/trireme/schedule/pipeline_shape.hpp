// What programs are made for: stages, the teams that hold them, and who executes which micro-batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace trireme::schedule {

// A team is the ranks that hold a replica together (one rank unless tensors are shared); its ranks run equal
// programs, so that programs are written once for each team. A team may hold several stages.
struct PipelineShape {
    int teams = 1;
    int microbatches = 1;  // of a step, over all replicas
    int steps = 1;         // that programs cover, one micro-batch number after the other
    std::vector<std::vector<int>> holders = {{0}};   // per stage: the teams that hold it, one per replica
    std::vector<std::vector<int>> executor = {{0}};  // per stage and micro-batch: a team among the holders
    int slots = 1;                                   // messages that a channel holds at each of its ends
    bool is_training = true;                         // otherwise forward only
    bool updates_alone = false;  // an update waits for the gradients of its own stage, not for those of all
    bool validates = false;      // updates go ahead at once; a VALIDATE of each stage waits for all
    bool ties_ends =
        false;  // the first and the last stage share a tensor: one's update needs the other's gradients
    std::vector<int> most_activations = {};  // per team: micro-batches that it may keep, counted over its
                                             // stages; empty: any number

    int stages() const { return static_cast<int>(holders.size()); }
    int all_microbatches() const { return steps * microbatches; }
    int step_of(int microbatch) const { return microbatch / microbatches; }
    bool holds(int team, int stage) const;
    // The team that a message of `microbatch` between two neighbouring stages goes to, or the same team; the
    // same in every step.
    int executor_of(int stage, int microbatch) const {
        return executor[static_cast<std::size_t>(stage)][static_cast<std::size_t>(microbatch % microbatches)];
    }
    // Micro-batches of a step that a team executes in a stage.
    int turns_of(int team, int stage) const {
        return static_cast<int>(std::ranges::count(executor[static_cast<std::size_t>(stage)], team));
    }
};

// A grid: `pipe` teams in a row hold `chunks` stages each, team r the stages r, r + pipe, ...; `replicas` such
// rows share the micro-batches evenly, row d the `microbatches_each` that follow on those of row d - 1. Team
// d * pipe + r is the r-th of row d.
PipelineShape grid_shape(int pipe, int replicas, int chunks, int microbatches_each, bool is_training = true);

// A V: likewise with two stages each, team r of a row the stages r and 2 * pipe - 1 - r, so that the first team
// has both ends of the model. With a pipe of 1 it is a grid with 2 chunks.
PipelineShape v_shape(int pipe, int replicas, int microbatches_each, bool is_training = true);

// Stages with their own numbers of replicas, none of whose teams holds a second stage: micro-batch m is
// executed by replica m % replicas of each stage. Teams are numbered stage by stage.
PipelineShape uneven_shape(const std::vector<int>& replicas, int microbatches, bool is_training = true);

}  // namespace trireme::schedule
