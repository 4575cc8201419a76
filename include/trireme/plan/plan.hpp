// The plan: everything that is needed to run a step. It says which ranks hold which layers, which teams execute
// which micro-batches, and in which order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/circle.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/layout/migration.hpp"
#include "trireme/plan/recompute.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::plan {

// Programs of all teams, proved for any number of steps.
struct ProvedPrograms {
    schedule::PipelineShape shape;            // of one step
    std::vector<schedule::Program> prologue;  // per team: see Phases; all empty if the schedule is synchronous
    std::vector<schedule::Program> programs;  // per team: the body of each step
    int look_ahead = 0;                       // later steps that a body reaches into
    schedule::Proof proof;                    // of enough_steps() steps

    schedule::Phases phases() const { return {.prologue = prologue, .body = programs}; }
    // True if a step can be executed by itself: no work is in flight across its end, and no weights are old.
    bool ends_with_step() const { return enough_steps(phases(), shape.microbatches) == 1; }
    // Returns the program of a team over enough_steps() steps, which represent any larger number.
    schedule::Program long_program(int team) const;
};

struct Plan {
    layout::Layout layout;
    std::vector<layout::Team> teams;    // of the layout
    std::vector<Recompute> recompute;   // per stage
    bool cuts_rows = false;             // sequence parallelism
    bool shards_optimizer = true;       // each holder of a piece updates its shard of it
    std::string schedule = "1f1b";      // a schedule's or a file's name
    std::vector<double> left_out = {};  // per rank: fraction of its blocks' matmuls that it does not compute in
                                        // training, including what helper ranks compute; empty if all is
                                        // computed
    double most_left_out = 0;           // largest allowed value in left_out
    bool remembers_left_out = false;    // keeps the last gradients of each channel, for when it is skipped
    std::vector<layout::Migration> migrations = {};  // matmul work offloaded within teams in training
    layout::Spread spread = layout::Spread::tree;    // how migrations broadcast and reduce
    ProvedPrograms training;
    ProvedPrograms evaluation;  // forward only, with equally many micro-batches

    int microbatches() const { return training.shape.microbatches; }   // per step, over all replicas
    int team_of(int rank) const { return team_of_rank(teams, rank); }  // -1 if idle
};

// The input of make_plan().
struct PlanWish {
    layout::Layout layout;  // checked: see check_layout()
    std::string schedule = "1f1b";
    schedule::Phases own_programs = {};     // of a file: one per team, or one per working rank (equal within a
                                            // team); empty if the schedule is built in
    int microbatches = 1;                   // per step
    bool is_each = true;                    // `microbatches` counts per replica of a grid, not in total
    std::vector<Recompute> recompute = {};  // one for all stages, or one per stage
    bool cuts_rows = false;
    bool shards_optimizer = true;
    bool ties_ends = false;                       // the first and the last stage share a tensor
    std::vector<schedule::StageCost> costs = {};  // per stage, for schedule auto; if empty, all are equal
    std::vector<bool> may_split = {};  // per stage: schedule auto may split backwards; if empty, it may in
                                       // all. It never does under full recompute
    bool may_go_ahead = true;          // schedule auto may use speculative updates, which keep a backup
    std::vector<int> most_activations = {};  // per team, summed over its stages; empty if unlimited
};

// Generates, lowers and proves the programs of a plan. On a grid or a V, row d of teams executes the
// micro-batches that follow those of row d - 1. Elsewhere, and if the replicas of a grid do not get equally
// many, the replicas of each stage take turns as the layout says. Channels get the fewest slots (of 1 to 4, 8,
// 16, ...) with which no team waits for one, for equal costs or, with schedule auto, for the given ones. If the
// stages of a file's programs use weights of different ages, each stage is updated alone. In all other cases
// updates wait for the gradients of all stages.
//
// Throws ConfigError if the schedule does not fit the layout or exceeds the bounds on activations; if the
// checker finds a fault in a file's programs (with its description and the file's name); and if `recompute` has
// a wrong length.
Plan make_plan(const PlanWish& wish);

// Returns the plan without programs.
Plan plan_without_programs(const PlanWish& wish);

// Says why no shape fits the wish; empty if one does.
std::string obstacle_to_shape(const PlanWish& wish, const std::vector<layout::Team>& teams);
// Returns the shape of a step. Throws ConfigError with the obstacle, if there is one.
schedule::PipelineShape shape_of(const PlanWish& wish, const std::vector<layout::Team>& teams);

// Parses {"layers": 27, "stages": [{"layers": [0, 8], "replicas": [{"ranks": [0, 1], "shares": [5, 3], "turns":
// 2}, {"ranks": [2]}]}, ...], "idle": [7]}. The layers of a stage are begin and end. Shares default to even
// ones, turns to 1. If the object has a "layout", as from `plan --format json`, that is parsed instead. Throws
// ConfigError, naming the JSON key, if the text is no layout. The caller calls check_layout().
layout::Layout layout_from_json(std::string_view text, const std::string& place);
std::string json_of(const layout::Layout& layout);

// Returns the whole plan in one line, and its hash: the first 16 digits of that line's SHA-256.
std::string json_of(const Plan& plan);
std::string hash_of(const Plan& plan);

}  // namespace trireme::plan
