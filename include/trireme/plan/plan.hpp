// The plan: everything that is needed to run a step. It says which ranks hold which layers, which teams execute
// which micro-batches, and in which order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/broadcast_tree.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/layout/migration.hpp"
#include "trireme/plan/recompute.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::plan {

// Programs of all teams, which the checker has proved to be correct for any number of steps.
struct ProvedPrograms {
    schedule::PipelineShape shape;            // of one step
    std::vector<schedule::Program> prologue;  // per team: see Phases; all empty if the schedule is synchronous
    std::vector<schedule::Program> programs;  // per team: the body of each step
    int look_ahead = 0;  // number of later steps whose micro-batches a body already computes; 0 if synchronous
    schedule::Proof proof;  // for count_representative_steps() steps

    schedule::Phases phases() const { return {.prologue = prologue, .body = programs}; }
    // True if a step can be executed by itself: no micro-batch is in flight at its end, and all weights are up
    // to date.
    bool are_steps_independent() const { return count_representative_steps(phases(), shape.microbatches) == 1; }
    // Returns the program of a team over count_representative_steps() steps, which stand for any larger number
    // of steps.
    schedule::Program unroll_program(int team) const;
};

// Everything that is needed to run a step.
struct Plan {
    layout::Layout layout;
    std::vector<layout::Team> teams;   // make_teams(layout)
    std::vector<Recompute> recompute;  // per stage
    bool cuts_rows = false;            // sequence parallelism
    bool shards_optimizer = true;      // each holder of a piece updates its shard of the piece
    std::string schedule = "1f1b";     // name of a schedule, or of a file with programs
    std::vector<double> skipped = {};  // per rank: fraction of its blocks' matmuls that it does not compute in
                                       // training, including what helper ranks compute; empty if all is
                                       // computed
    double max_skipped_fraction = 0;   // largest allowed value in `skipped`
    bool keeps_skipped_gradients = false;  // a skipped channel reuses its last gradients, which are kept
    std::vector<layout::Migration> migrations = {};  // matmul work offloaded within teams in training
    layout::Spread spread = layout::Spread::tree;    // how migrations broadcast and reduce
    ProvedPrograms training;
    ProvedPrograms evaluation;  // forward passes only, with the same number of micro-batches

    int microbatches() const { return training.shape.microbatches; }          // per step, over all replicas
    int find_team(int rank) const { return find_team_of_rank(teams, rank); }  // -1 if idle
};

// The input of make_plan().
struct PlanWish {
    layout::Layout layout;  // checked: see check_layout()
    std::string schedule = "1f1b";
    schedule::Phases file_programs = {};  // read from a file: one program per team, or one per rank that is not
                                          // idle (equal within a team); empty if the schedule is built in
    int microbatches = 1;                 // per step: see is_per_replica
    bool is_per_replica = true;           // `microbatches` counts per replica of a grid, not in total
    std::vector<Recompute> recompute = {};  // one for all stages, or one per stage
    bool cuts_rows = false;
    bool shards_optimizer = true;
    bool has_tied_embeddings = false;             // the first and the last stage share a tensor
    std::vector<schedule::StageCost> costs = {};  // per stage, for schedule auto; if empty, all are equal
    std::vector<bool> may_split = {};       // per stage: schedule auto may split backward passes; if empty, in
                                            // all stages. Stages with full recomputation never split them
    bool may_speculate = true;              // schedule auto may use speculative updates, which keep a backup of
                                            // weights and optimizer state
    std::vector<int> max_activations = {};  // per team: in-flight micro-batches, summed over its stages; empty
                                            // if unlimited
};

// Makes a plan: generates programs or takes those of the file, adds their messages, and proves them. On a grid
// or a V-shaped layout, data-parallel replica d of the pipeline executes the micro-batches that follow those of
// replica d - 1. In other layouts, and if the number of micro-batches is not divisible by the number of
// replicas, the replicas of each stage take turns as the layout says. Channels get the smallest number of slots
// (of 1 to 4, 8, 16, ...) with which a step takes no longer than with the most slots, for equal costs or, with
// schedule auto, for `wish.costs`. If the programs of a file cannot run with a common update of all stages,
// each stage is updated by itself. Otherwise updates wait for the gradients of all stages.
//
// Throws ConfigError if the schedule does not fit the layout or exceeds `max_activations`; if the checker finds
// a fault in the programs of a file (the message describes the fault and names the file); and if `recompute`
// has a wrong length.
Plan make_plan(const PlanWish& wish);

// Returns the plan of the wish with empty programs.
Plan make_plan_without_programs(const PlanWish& wish);

// Returns why the number of micro-batches does not fit the layout of the wish; empty if it does.
std::string find_shape_obstacle(const PlanWish& wish, const std::vector<layout::Team>& teams);
// Returns the shape of a step. Throws ConfigError with the result of find_shape_obstacle() if it is not empty.
schedule::PipelineShape make_shape(const PlanWish& wish, const std::vector<layout::Team>& teams);

// Parses {"layers": 27, "stages": [{"layers": [0, 8], "replicas": [{"ranks": [0, 1], "shares": [5, 3], "turns":
// 2}, {"ranks": [2]}]}, ...], "idle": [7]}, the text of the file `file_name`. The layers of a stage are its
// first layer and the one after its last. Shares are even by default, turns are 1. If the object has the key
// "layout", as the output of `plan --format json` does, its value is parsed instead. Throws ConfigError, naming
// the JSON key, if the text is no layout. The caller must also call check_layout().
layout::Layout parse_layout(std::string_view text, const std::string& file_name);
std::string to_json(const layout::Layout& layout);

// Returns the whole plan in one line.
std::string to_json(const Plan& plan);
// Returns the hash of a plan: the first 16 hexadecimal digits of the SHA-256 of to_json(plan).
std::string compute_hash(const Plan& plan);

}  // namespace trireme::plan
