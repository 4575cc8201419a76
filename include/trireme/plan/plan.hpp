// The plan: everything that is needed to run a step. The plan says which ranks hold which layers, and which
// teams execute which micro-batches in which order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/broadcast_tree.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/layout/migration.hpp"
#include "trireme/plan/proved_programs.hpp"
#include "trireme/plan/recompute.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::plan {

// Returns the index in the model of the first layer that is trained at depth `frozen`, the number of frozen
// blocks. Layer 0 is the embedding, and each block has two layers.
constexpr std::size_t find_first_trained_layer(int frozen) {
    return frozen == 0 ? 0 : 1 + 2 * static_cast<std::size_t>(frozen);
}

// Everything that is needed to run a step.
struct Plan {
    layout::Layout layout;
    std::vector<layout::Team> teams;   // make_teams(layout)
    std::vector<Recompute> recompute;  // per stage
    bool cuts_rows = false;            // uses sequence parallelism
    bool shards_optimizer = true;      // each holder of a piece updates its shard of the piece
    std::string schedule = "1f1b";     // name of a schedule, or of a file with programs
    int frozen = 0;  // depth: this number of first blocks is frozen, and then the embedding too
    std::vector<double> skipped = {};  // per rank: fraction of its matmuls in transformer blocks that it skips
                                       // or offloads in training; 0 if it skips nothing, even if it offloads
                                       // matmuls; empty if all fractions are 0
    double max_skipped_fraction = 0;   // upper limit of the fraction of each matmul that no rank computes
    bool keeps_skipped_gradients = false;  // a skipped channel reuses its last gradients, which are kept
    std::vector<layout::Migration> migrations = {};  // matmul work offloaded within teams in training
    layout::Spread spread = layout::Spread::tree;    // message pattern of migrations
    ProvedPrograms training;
    ProvedPrograms evaluation;  // forward passes only, with the same number of micro-batches

    int microbatches() const { return training.shape.microbatches; }  // per step, over all replicas
    std::size_t first_trained_layer() const { return find_first_trained_layer(frozen); }
    int find_team(int rank) const { return find_team_of_rank(teams, rank); }  // -1 if idle
};

// The input of make_plan().
struct PlanWish {
    layout::Layout layout;  // check_layout() must accept it
    std::string schedule = "1f1b";
    schedule::Phases file_programs = {};  // read from a file: one program per team, or one per rank that is not
                                          // idle (equal within a team); empty if the schedule is built in
    int microbatches = 1;                 // per step; see is_per_replica
    bool is_per_replica = true;  // true: `microbatches` counts per replica of the grid; false: in total
    std::vector<Recompute> recompute = {};  // one for all stages, or one per stage; empty: Recompute::none
    bool cuts_rows = false;
    bool shards_optimizer = true;
    bool has_tied_embeddings = false;             // the first and the last stage share a trained tensor
    int frozen = 0;                               // see Plan
    std::vector<schedule::StageCost> costs = {};  // per stage, for schedule auto; if empty, all are equal
    // Per stage: true if schedule auto may split backward passes. If empty, schedule auto may split the
    // backward passes of all stages. Backward passes of stages with full recomputation are never split.
    std::vector<bool> may_split = {};
    bool may_speculate = true;              // schedule auto may use speculative updates, which keep a backup of
                                            // weights and optimizer state
    std::vector<int> max_activations = {};  // per team, for schedule auto: maximum number of in-flight
                                            // micro-batches, summed over the stages of the team; empty if
                                            // unlimited
};

// Makes a plan: generates programs or takes the programs of the file, adds messages to the programs, and proves
// the programs.
//
// On a grid or a V-shaped layout, each data-parallel replica of the pipeline executes consecutive
// micro-batches: replica 0 the first ones, replica 1 the next ones, and so on. Instead, the replicas of each
// stage take turns if the layout has another form, if the numbers of turns are uneven, or if the number of
// micro-batches is not divisible by the number of replicas.
//
// All message channels get the same number of slots: the first of 1, 2, 3, 4, 8, 16 and so on for which the
// predicted time of a step is no longer than with unlimited slots. The prediction assumes equal costs of all
// stages or, with schedule auto, `wish.costs`.
//
// Built-in schedules have their own update rules. Programs of a file update speculatively if they contain
// VALIDATEs. Otherwise each update waits for the gradients of all stages. If the programs compute micro-batches
// of later steps, and cannot run with this rule, each stage is updated independently of the other stages.
//
// Throws ConfigError in these cases:
//   - the schedule or the number of micro-batches does not fit the layout;
//   - schedule auto finds no programs within `max_activations`;
//   - the programs of a file have a fault: the message describes the fault and names the file;
//   - `recompute` has a wrong length.
Plan make_plan(const PlanWish& wish);

// Prepares a plan whose schedule is `1f1b` or `envpipe` for passes whose durations change with clocks: sets
// PipelineShape::extra_forwards, gives channels enough slots that no pass waits for one, and removes CLOCKs.
// Throws ConfigError if the schedule takes no extra forwards, or if their number is not that of the stages.
void set_extra_forwards(const std::vector<int>& extra_forwards, Plan& plan);

// Returns the plan that `wish` describes, with empty programs.
Plan make_plan_without_programs(const PlanWish& wish);

// Returns the reason for which the number of micro-batches or the turns do not fit the layout of `wish`; empty
// if both fit. `teams` are make_teams(wish.layout).
std::string find_shape_obstacle(const PlanWish& wish, const std::vector<layout::Team>& teams);
// Returns the shape of a step. Throws ConfigError with the text of find_shape_obstacle() if this text is not
// empty.
schedule::PipelineShape make_shape(const PlanWish& wish, const std::vector<layout::Team>& teams);

// Parses `text`, the content of the layout file `file_name`:
//
//   {"layers": 27, "idle": [7],
//    "stages": [{"layers": [0, 8],
//                "replicas": [{"ranks": [0, 1], "shares": [5, 3], "turns": 2}, {"ranks": [2]}]}, ...]}
//
// The "layers" of a stage are two numbers: the stage's first layer, and the layer after the stage's last layer.
// "idle", "shares" and "turns" are optional: by default no rank is idle, and all shares and turns are 1. If the
// object has the key "layout", as the output of `plan --format json` does, the value of this key is parsed
// instead. Throws ConfigError, naming the JSON key, if the text does not describe a layout. The caller must
// also call check_layout().
layout::Layout parse_layout(std::string_view text, const std::string& file_name);
std::string to_json(const layout::Layout& layout);

// Returns the whole plan as JSON in one line.
std::string to_json(const Plan& plan);
// Returns the hash of a plan: the first 16 hexadecimal digits of the SHA-256 of to_json(plan).
std::string compute_hash(const Plan& plan);

// True if a training program splits a backward pass of the stage.
bool has_split_backward(const Plan& plan, int stage);
// Returns the plan with at least the recomputation `level` in every stage. Teams that split backward passes
// have no full recomputation.
Plan raise_recomputation(Plan plan, Recompute level);

}  // namespace trireme::plan
