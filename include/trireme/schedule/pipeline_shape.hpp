// What programs are made for: stages, the teams that hold them, and who executes which micro-batch.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme {

// A team is the ranks that hold a replica together (one rank unless tensors are shared); its ranks run equal
// programs, so that programs are written once for each team. A team may hold several stages.
struct PipelineShape {
    int teams = 1;
    int micro_batches = 1;                           // of a step, over all replicas
    std::vector<std::vector<int>> holders = {{0}};   // per stage: the teams that hold it, one per replica
    std::vector<std::vector<int>> executor = {{0}};  // per stage and micro-batch: a team among the holders
    int slots = 1;                                   // messages that a channel holds at each of its ends
    bool is_training = true;                         // otherwise forward only
    std::size_t most_activations = 0;                // micro-batches that a team may keep, counted over its
                                                     // stages; 0: any number
    int stages() const { return static_cast<int>(holders.size()); }
    bool holds(int team, int stage) const;
    // The team that a message of `micro_batch` between two neighbouring stages goes to, or the same team.
    int executor_of(int stage, int micro_batch) const {
        return executor[static_cast<std::size_t>(stage)][static_cast<std::size_t>(micro_batch)];
    }
};

// A grid: `pipe` teams in a row hold `chunks` stages each, team r the stages r, r + pipe, ...; `replicas` such
// rows share the micro-batches evenly, row d the `micro_batches_each` that follow on those of row d - 1. Team
// d * pipe + r is the r-th of row d.
PipelineShape grid_shape(int pipe, int replicas, int chunks, int micro_batches_each, bool is_training = true);

// Stages with their own numbers of replicas, none of whose teams holds a second stage: micro-batch m is
// executed by replica m % replicas of each stage. Teams are numbered stage by stage.
PipelineShape uneven_shape(const std::vector<int>& replicas, int micro_batches, bool is_training = true);

}  // namespace trireme
