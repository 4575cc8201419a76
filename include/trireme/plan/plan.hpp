// Everything that is needed to run a step: who holds what, who executes what, and in which order.
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

// Programs for all teams, proved for any number of steps.
struct ProvedPrograms {
    schedule::PipelineShape shape;            // of one step
    std::vector<schedule::Program> prologue;  // per team: see Phases; empty ones of a synchronous schedule
    std::vector<schedule::Program> programs;  // per team: of each step, the body
    int look_ahead = 0;                       // steps beyond its own that a body reaches into
    schedule::Proof proof;                    // of enough steps

    schedule::Phases phases() const { return {.prologue = prologue, .body = programs}; }
    // Whether a step can be executed by itself: nothing is in flight over its end, and no weights are old.
    bool ends_with_step() const { return enough_steps(phases(), shape.microbatches) == 1; }
    // Of a team, over the smallest number of steps that represents all others.
    schedule::Program long_program(int team) const;
};

struct Plan {
    layout::Layout layout;
    std::vector<layout::Team> teams;    // of the layout
    std::vector<Recompute> recompute;   // per stage
    bool cuts_rows = false;             // sequence parallelism
    bool shards_optimizer = true;       // each holder of a piece updates its shard of it
    std::string schedule = "1f1b";      // a name, or a file's
    std::vector<double> left_out = {};  // of each rank, the part of its blocks' matrix products that it leaves
                                        // out in training, but for what others compute of it; empty: nobody
                                        // leaves out anything
    double most_left_out = 0;           // that a rank may come to leave out
    bool remembers_left_out = false;    // the last gradients of each channel, for when it is left out
    std::vector<layout::Migration> migrations = {};  // what ranks of a team compute for each other in training
    layout::Spread spread = layout::Spread::tree;    // how these speak to several
    ProvedPrograms training;
    ProvedPrograms evaluation;  // forward only, of as many micro-batches

    int microbatches() const { return training.shape.microbatches; }   // of a step, over all replicas
    int team_of(int rank) const { return team_of_rank(teams, rank); }  // -1: idle
};

struct PlanWish {
    layout::Layout layout;  // checked: see check_layout()
    std::string schedule = "1f1b";
    schedule::Phases own_programs = {};  // of a file: one for each team, or for each rank that works (those of
                                         // a team equal); none: the schedule is one of ours
    int microbatches = 1;                // of a step
    bool is_each = true;                 // that many for each replica of a grid, instead of in all
    std::vector<Recompute> recompute = {};  // one for all stages, or one for each
    bool cuts_rows = false;
    bool shards_optimizer = true;
    bool ties_ends = false;                       // the first and the last stage share a tensor
    std::vector<schedule::StageCost> costs = {};  // of each stage, for schedule auto; none: they are equal
    std::vector<bool> may_split = {};  // of each stage: schedule auto may divide backwards; none: it may in
                                       // all. Where all is recomputed it never does
    bool may_go_ahead = true;          // schedule auto may let updates go ahead of the norm, with a backup
    std::vector<int> most_activations = {};  // that each team may keep, over its stages; none: any number
};

// Generates, lowers and proves. On a grid or a V row d of teams executes the micro-batches that follow on those
// of row d - 1; elsewhere, and where a grid's replicas do not have equally many, the replicas of each stage
// take turns, as the layout says. Channels get the fewest slots (of 1 to 4, 8, 16, ...) with which nobody waits
// for one, where stages cost the same or, with schedule auto, what is given. A file's programs whose stages use
// weights of unlike ages update each stage alone; all others wait for the gradients of all stages. Throws
// ConfigError for a schedule that is not made for the layout, or keeps more than it may; for a file's programs
// that the checker refuses (what it says, with the file's name), and for a list of another length than the
// stages.
Plan make_plan(const PlanWish& wish);

// All of it but the programs.
Plan plan_without_programs(const PlanWish& wish);

// Why the wish has no shape; empty if it has one.
std::string obstacle_to_shape(const PlanWish& wish, const std::vector<layout::Team>& teams);
// Of a step: who executes what.
schedule::PipelineShape shape_of(const PlanWish& wish, const std::vector<layout::Team>& teams);

// As DESIGN has layout.json: {"layers": 27, "stages": [{"layers": [0, 8], "replicas": [{"ranks": [0, 1],
// "shares": [5, 3], "turns": 2}, {"ranks": [2]}]}, ...], "idle": [7]}; layers are begin and end, shares may be
// left out where they are even, and turns where there is 1. An object that has a "layout", as `plan --format
// json` gives, stands for that. Throws ConfigError for a text that is no such thing, naming the place in it;
// check_layout() is the caller's.
layout::Layout layout_from_json(std::string_view text, const std::string& place);
std::string json_of(const layout::Layout& layout);

// All of a plan, in one line, and what names it: the first 16 digits of that line's SHA-256.
std::string json_of(const Plan& plan);
std::string hash_of(const Plan& plan);

}  // namespace trireme::plan
