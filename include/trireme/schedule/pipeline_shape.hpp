// The shape of a pipeline: stages, the teams that hold them, and the team that executes each micro-batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace trireme::schedule {

// The stages, teams and micro-batches of a pipeline. A team is a tensor-parallel group: the ranks that together
// hold one replica of a stage (one rank without tensor parallelism). The ranks of a team run equal programs, so
// that there is one program per team. A team may hold several stages.
struct PipelineShape {
    int teams = 1;         // number of teams
    int microbatches = 1;  // per step, over all replicas
    int steps = 1;         // number of steps that the programs cover; micro-batches are numbered over all steps
    std::vector<std::vector<int>> holders = {{0}};   // per stage: the teams that hold it, one per replica
    std::vector<std::vector<int>> executor = {{0}};  // per stage and micro-batch of a step: one of the holders
    int slots = 1;                                   // buffers at each end of a channel (see check.hpp)
    bool is_training = true;                         // false: forward only
    int first_trained_stage = 0;  // the stages before it are frozen: in training, they only run forward
    bool updates_stages_independently = false;  // a STEP waits for the gradients of its own stage only
    bool has_speculative_updates = false;       // a STEP does not wait for the gradient norm; a VALIDATE does
    bool has_tied_embeddings = false;  // the first and the last stage share a tensor: the STEP of either stage
                                       // needs the gradients of both
    // Per stage: the forwards that schedule `envpipe` executes before the first backward, in addition to those
    // of 1F1B. Counted in the micro-batches of a replica. Empty if there are none.
    std::vector<int> extra_forwards = {};
    // Per team: the largest permitted number of in-flight micro-batches, summed over the team's stages. Empty
    // if the numbers are unlimited.
    std::vector<int> max_activations = {};

    int stages() const { return static_cast<int>(holders.size()); }
    // True if the programs train the stage: it has backward passes and updates.
    bool trains(int stage) const { return is_training && stage >= first_trained_stage; }
    int count_microbatches() const { return steps * microbatches; }  // of all steps
    // Returns the step of a micro-batch that is numbered over all steps.
    int find_step(int microbatch) const { return microbatch / microbatches; }
    bool is_holder(int team, int stage) const;  // true if the team holds the stage
    // Returns the team that executes the micro-batch in the stage. The assignment is the same in every step.
    int find_executor(int stage, int microbatch) const {
        return executor[static_cast<std::size_t>(stage)][static_cast<std::size_t>(microbatch % microbatches)];
    }
    // Returns the last micro-batch of a step that a team executes in a stage; 0 if it executes none.
    int find_last_microbatch(int team, int stage) const {
        const std::vector<int>& executors = executor[static_cast<std::size_t>(stage)];
        const auto after_last = std::find(executors.rbegin(), executors.rend(), team).base();
        return std::max(0, static_cast<int>(after_last - executors.begin()) - 1);
    }
    // Returns the number of micro-batches of a step that a team executes in a stage.
    int count_turns(int team, int stage) const {
        return static_cast<int>(std::ranges::count(executor[static_cast<std::size_t>(stage)], team));
    }
};

// Returns a grid of `replicas` pipeline replicas with `pipe` teams each and `chunks` stages per team. The teams
// of a pipeline replica together hold all stages. Team d * pipe + r is at position r of pipeline replica d, and
// holds stages r, r + pipe, r + 2 * pipe and so on. Replica 0 executes the first `microbatches_each`
// micro-batches of a step, replica 1 the next ones, and so on. Throws ConfigError if a number is below 1.
PipelineShape make_grid_shape(int pipe, int replicas, int chunks, int microbatches_each,
                              bool is_training = true);

// Returns the pipeline replicas of make_grid_shape() with two stages per team in the order of a V. The team at
// position r of a pipeline replica holds stages r and 2 * pipe - 1 - r, so that the first team holds the first
// and the last stage. If `pipe` is 1, the result equals a grid with 2 chunks. Throws ConfigError if a number is
// below 1.
PipelineShape make_v_shape(int pipe, int replicas, int microbatches_each, bool is_training = true);

// Returns a shape in which each stage has its own number of replicas: `replicas` has one entry per stage. No
// team holds two stages. Micro-batch m is executed by replica m % replicas[s] of stage s. Teams are numbered
// stage by stage. Throws ConfigError if a number is below 1.
PipelineShape make_uneven_shape(const std::vector<int>& replicas, int microbatches, bool is_training = true);

}  // namespace trireme::schedule
