#include "trireme/plan/plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/file_programs.hpp"
#include "plan/prove_programs.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/shares.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/search.hpp"

namespace trireme::plan {
namespace {

constexpr int max_microbatches = 1 << 16;  // per step: more than needed, and programs still fit in memory

// Returns the number of data-parallel replicas of the pipeline in a grid or a V-shaped layout.
int count_grid_pipelines(const layout::Layout& layout) {
    return static_cast<int>(layout.stages.front().replicas.size());
}

// Returns the shape of a step in a grid or a V-shaped layout, where each pipeline executes `microbatches_each`
// micro-batches.
schedule::PipelineShape make_even_shape(const PlanWish& wish, const std::vector<layout::Team>& teams,
                                        int microbatches_each) {
    const int pipelines = count_grid_pipelines(wish.layout);
    const int pipe = static_cast<int>(teams.size()) / pipelines;
    const int chunks = static_cast<int>(wish.layout.stages.size()) / pipe;
    return is_grid(wish.layout) ? schedule::make_grid_shape(pipe, pipelines, chunks, microbatches_each)
                                : schedule::make_v_shape(pipe, pipelines, microbatches_each);
}

// Returns the stage with the first trained layer.
int find_first_trained_stage(const PlanWish& wish) {
    const auto stage = std::ranges::find_if(wish.layout.stages, [&](const layout::StageLayout& each) {
        return each.layers.end() > find_first_trained_layer(wish.frozen);
    });
    return static_cast<int>(stage - wish.layout.stages.begin());
}

// Returns the shape of a step in which the replicas of each stage take turns.
schedule::PipelineShape make_uneven_shape(const PlanWish& wish, const std::vector<layout::Team>& teams) {
    schedule::PipelineShape shape{.teams = static_cast<int>(teams.size()),
                                  .microbatches = wish.microbatches,
                                  .holders = {},
                                  .executor = {}};
    for (std::size_t stage = 0; stage < wish.layout.stages.size(); ++stage) {
        std::vector<int>& holders = shape.holders.emplace_back();
        std::vector<double> turns;
        for (const layout::ReplicaLayout& replica : wish.layout.stages[stage].replicas) {
            const int replica_index = static_cast<int>(turns.size());
            holders.push_back(find_team(teams, wish.layout, static_cast<int>(stage), replica_index));
            turns.push_back(static_cast<double>(replica.turns));
        }
        std::vector<int>& executor = shape.executor.emplace_back();
        for (const std::size_t replica :
             layout::assign_turns(turns, static_cast<std::size_t>(wish.microbatches)))
            executor.push_back(holders[replica]);
    }
    return shape;
}

// True if any team holds several stages. Requires that all stages have the same number of replicas.
bool has_chunks(const layout::Layout& layout, const std::vector<layout::Team>& teams) {
    return teams.size() < layout.stages.size() * layout.stages.front().replicas.size();
}

schedule::PipelineShape make_forward_only(schedule::PipelineShape shape) {
    shape.is_training = false;
    shape.first_trained_stage = 0;
    shape.has_speculative_updates = false;
    return shape;
}

// Returns a number of slots with which no pass of `compute` waits for a slot, however long the passes take. The
// programs must be those of 1F1B, perhaps with extra forwards. A channel with k slots holds 2 k messages at its
// two ends. The number of its messages that are not read yet is at most the number of forwards that a stage
// executes before its first backward.
int count_slots_for_any_durations(const std::vector<schedule::Program>& compute) {
    std::ptrdiff_t max_warm_up = 0;
    for (const schedule::Program& program : compute) {
        const auto first_backward =
            std::ranges::find(program, schedule::Op::backward, &schedule::Instruction::op);
        max_warm_up = std::max(max_warm_up, first_backward - program.begin());
    }
    return static_cast<int>((max_warm_up + 1) / 2);
}

// Returns phases with an empty prologue. `programs` has one program of a step per team.
schedule::Phases make_phases(std::vector<schedule::Program> programs) {
    std::vector<schedule::Program> empty_prologue(programs.size());
    return {.prologue = std::move(empty_prologue), .body = std::move(programs)};
}

// Returns one default StageCost per stage.
std::vector<schedule::StageCost> make_equal_costs(const schedule::PipelineShape& shape) {
    return std::vector<schedule::StageCost>(shape.holders.size());
}

// Throws ConfigError if other instructions stand between the STEPs of a program. The STEPs must be adjacent,
// because a StageWorker updates all stages of the team at the first STEP.
void check_updates_are_adjacent(const schedule::Phases& phases, const std::string& place) {
    for (const std::vector<schedule::Program>* phase : {&phases.prologue, &phases.body}) {
        for (const schedule::Program& program : *phase) {
            const auto is_step = [](const schedule::Instruction& i) { return i.op == schedule::Op::step; };
            const auto is_other = [](const schedule::Instruction& i) {
                return i.op != schedule::Op::step && i.op != schedule::Op::set_clock;
            };
            const auto first_step = std::find_if(program.begin(), program.end(), is_step);
            const auto first_other = std::find_if(first_step, program.end(), is_other);
            const auto later_step = std::find_if(first_other, program.end(), is_step);
            if (later_step == program.end()) continue;
            throw ConfigError(cat(place, " has ", to_string(*first_other), " between ", to_string(*first_step),
                                  " and ", to_string(*later_step),
                                  "; put all STEPs of a step next to each other"));
        }
    }
}

void add_file_programs(const PlanWish& wish, schedule::PipelineShape shape, Plan& plan) {
    schedule::Phases programs = order_by_team(wish.file_programs, plan.teams, shape, wish.schedule);
    check_updates_are_adjacent(programs, wish.schedule);
    programs = remove_frozen_work(std::move(programs), shape);
    shape.has_speculative_updates = validates_updates(programs, wish.schedule);
    const std::vector<schedule::StageCost> costs = make_equal_costs(shape);
    std::string fault;
    const bool can_update_together =
        try_slots(programs, shape, compute_max_useful_slots(programs, shape), fault).has_value();
    shape.updates_stages_independently = !can_update_together && !shape.has_speculative_updates &&
                                         count_look_ahead_steps(programs, shape.microbatches) > 0;
    plan.training = prove_with_fewest_slots(programs, shape, costs, wish.schedule);
    const schedule::Phases forwards = extract_forwards(plan.training.phases(), shape);
    plan.evaluation = prove_with_fewest_slots(forwards, make_forward_only(shape), costs, wish.schedule);
}

void add_generated_programs(const PlanWish& wish, schedule::PipelineShape shape, Plan& plan) {
    const schedule::Schedule& schedule = schedule::require_schedule(wish.schedule);
    const std::vector<schedule::StageCost> costs = make_equal_costs(shape);
    const std::string place = cat("schedule ", wish.schedule);
    const schedule::PipelineShape forwards = make_forward_only(shape);
    plan.evaluation =
        prove_with_fewest_slots(make_phases(generate(schedule, forwards)), forwards, costs, place);
    plan.training = prove_with_fewest_slots(remove_frozen_work(generate_phases(schedule, shape), shape),
                                            apply_update_rule(schedule, shape), costs, place);
}

// Returns one value per stage: true if its backward passes may be split. With full recomputation they may not
// be split, because the recomputed activations of a layer are discarded after its backward pass.
std::vector<bool> find_splittable_stages(const PlanWish& wish, const std::vector<Recompute>& recompute) {
    std::vector<bool> is_splittable;
    for (std::size_t stage = 0; stage < recompute.size(); ++stage) {
        const bool is_allowed = wish.may_split.empty() || wish.may_split[stage];
        is_splittable.push_back(is_allowed && recompute[stage] != Recompute::full);
    }
    return is_splittable;
}

// True if no team exceeds the max_activations of the shape.
bool is_within_activation_bounds(const ProvedPrograms& proved) {
    const std::vector<int>& bounds = proved.shape.max_activations;
    return std::equal(bounds.begin(), bounds.end(), proved.proof.peak_activations.begin(),
                      [](int bound, int peak) { return peak <= bound; });
}

double predict_step_seconds(const ProvedPrograms& proved, const std::vector<schedule::StageCost>& costs) {
    return predict_step(proved.phases(), proved.shape, costs).seconds;
}

// Proves the programs of `phases`. Returns nothing if they cannot run, exceed the max_activations of the shape,
// or take at least as long per step as `best`.
std::optional<ProvedPrograms> prove_if_faster(const ProvedPrograms& best, const schedule::Phases& phases,
                                              const schedule::PipelineShape& shape,
                                              const std::vector<schedule::StageCost>& costs) {
    std::string fault;
    const auto with_max_slots = try_slots(phases, shape, compute_max_useful_slots(phases, shape), fault);
    if (!with_max_slots || !is_within_activation_bounds(*with_max_slots)) return std::nullopt;
    if (predict_step_seconds(*with_max_slots, costs) >= predict_step_seconds(best, costs)) return std::nullopt;
    return prove_with_fewest_slots(phases, shape, costs, "schedule auto");
}

// Returns the costs without those of the training of frozen stages.
std::vector<schedule::StageCost> remove_frozen_costs(std::vector<schedule::StageCost> costs,
                                                     const schedule::PipelineShape& shape) {
    for (int stage = 0; stage < shape.first_trained_stage; ++stage) {
        schedule::StageCost& cost = costs[static_cast<std::size_t>(stage)];
        cost.backward_input = cost.backward_weight = cost.reduce = cost.step = 0;
    }
    return costs;
}

void add_searched_programs(const PlanWish& wish, const schedule::PipelineShape& shape, Plan& plan) {
    const std::vector<bool> is_splittable = find_splittable_stages(wish, plan.recompute);
    const auto search_and_prove = [&](const schedule::PipelineShape& proved_shape,
                                      const std::vector<schedule::StageCost>& searched_costs) {
        schedule::PipelineShape searched_shape = proved_shape;
        searched_shape.first_trained_stage = 0;  // the backward passes of frozen stages take no time
        schedule::Phases phases = make_phases(search_programs(searched_shape, searched_costs, is_splittable));
        return prove_with_fewest_slots(remove_frozen_work(std::move(phases), proved_shape), proved_shape,
                                       searched_costs, "schedule auto");
    };
    const std::vector<schedule::StageCost> costs =
        remove_frozen_costs(wish.costs.empty() ? make_equal_costs(shape) : wish.costs, shape);
    plan.training = search_and_prove(shape, costs);
    plan.evaluation = search_and_prove(make_forward_only(shape), make_equal_costs(shape));
    if (!wish.may_speculate) return;
    schedule::PipelineShape speculative_shape = shape;
    speculative_shape.has_speculative_updates = true;
    for (const schedule::Phases& phases :
         make_speculative_programs(extract_compute(plan.training.programs), speculative_shape, is_splittable)) {
        if (auto faster = prove_if_faster(plan.training, phases, speculative_shape, costs))
            plan.training = *std::move(faster);
    }
}

void add_programs(const PlanWish& wish, Plan& plan) {
    schedule::PipelineShape shape = make_shape(wish, plan.teams);
    shape.max_activations = wish.max_activations;
    shape.has_tied_embeddings = wish.has_tied_embeddings;
    if (!wish.file_programs.body.empty()) {
        add_file_programs(wish, shape, plan);
    } else if (wish.schedule == schedule::searched_schedule_name) {
        add_searched_programs(wish, shape, plan);
    } else {
        add_generated_programs(wish, shape, plan);
    }
}

std::vector<Recompute> expand_recompute_option(const PlanWish& wish) {
    const std::size_t stages = wish.layout.stages.size();
    if (wish.recompute.empty()) return std::vector<Recompute>(stages, Recompute::none);
    if (wish.recompute.size() == 1) return std::vector<Recompute>(stages, wish.recompute.front());
    if (wish.recompute.size() == stages) return wish.recompute;
    throw ConfigError(cat("--recompute has ", wish.recompute.size(), " values, but the layout has ",
                          format_count(stages, "stage"),
                          "; give one value for all stages, or one value per stage"));
}

}  // namespace

// Copies the programs of this team only, because there may be thousands of teams.
schedule::Program ProvedPrograms::unroll_program(int team, int steps) const {
    const auto t = static_cast<std::size_t>(team);
    return unroll_team(0, {.prologue = {prologue[t]}, .body = {programs[t]}}, shape, steps);
}

std::string find_shape_obstacle(const PlanWish& wish, const std::vector<layout::Team>& teams) {
    const int microbatches = wish.microbatches;
    const bool is_regular = is_grid(wish.layout) || is_v_shaped(wish.layout);
    const int pipelines = is_regular ? count_grid_pipelines(wish.layout) : 1;
    const int max_allowed = std::max(1, max_microbatches / (wish.is_per_replica ? pipelines : 1));
    if (microbatches < 1 || microbatches > max_allowed)
        return cat("--microbatches ", microbatches, " cannot be used; it must be from 1 to ", max_allowed);
    if (!is_regular || !has_chunks(wish.layout, teams)) return {};
    if (!wish.is_per_replica && microbatches % pipelines != 0)
        return cat("--microbatches ", microbatches, " cannot be divided evenly among the ", pipelines,
                   " replicas of a layout with several stages per rank; use a multiple of ", pipelines);
    if (!has_even_turns(wish.layout))
        return "replicas of a layout with several stages per rank must have equal numbers of turns; omit "
               "\"turns\"";
    return {};
}

schedule::PipelineShape make_shape(const PlanWish& wish, const std::vector<layout::Team>& teams) {
    if (const std::string obstacle = find_shape_obstacle(wish, teams); !obstacle.empty())
        throw ConfigError(obstacle);
    const bool is_regular = is_grid(wish.layout) || is_v_shaped(wish.layout);
    const int pipelines = is_regular ? count_grid_pipelines(wish.layout) : 1;
    const bool divides_evenly = wish.is_per_replica || wish.microbatches % pipelines == 0;
    const bool is_even = is_regular && divides_evenly && has_even_turns(wish.layout);
    schedule::PipelineShape shape =
        is_even ? make_even_shape(wish, teams,
                                  wish.is_per_replica ? wish.microbatches : wish.microbatches / pipelines)
                : make_uneven_shape(wish, teams);
    shape.first_trained_stage = find_first_trained_stage(wish);
    return shape;
}

Plan make_plan_without_programs(const PlanWish& wish) {
    return {.layout = wish.layout,
            .teams = make_teams(wish.layout),
            .recompute = expand_recompute_option(wish),
            .cuts_rows = wish.cuts_rows,
            .shards_optimizer = wish.shards_optimizer,
            .schedule = wish.schedule,
            .frozen = wish.frozen,
            .training = {},
            .evaluation = {}};
}

Plan make_plan(const PlanWish& wish) {
    Plan plan = make_plan_without_programs(wish);
    add_programs(wish, plan);
    return plan;
}

void set_extra_forwards(const std::vector<int>& extra_forwards, Plan& plan) {
    const std::size_t stages = plan.layout.stages.size();
    if (!extra_forwards.empty() && !schedule::takes_extra_forwards(plan.schedule))
        throw ConfigError(
            cat("\"extra_forwards\" needs schedule envpipe, but the schedule is ", plan.schedule));
    if (!extra_forwards.empty() && extra_forwards.size() != stages)
        throw ConfigError(cat("\"extra_forwards\" has ", format_count(extra_forwards.size(), "number"),
                              ", but the layout has ", format_count(stages, "stage"),
                              "; give one number per stage"));
    schedule::PipelineShape shape = plan.training.shape;
    for (std::size_t stage = 0; stage < extra_forwards.size(); ++stage) {
        int max_turns = 0;
        for (const int team : shape.holders[stage])
            max_turns = std::max(max_turns, shape.count_turns(team, static_cast<int>(stage)));
        if (extra_forwards[stage] > max_turns)
            throw ConfigError(cat("\"extra_forwards\" is ", extra_forwards[stage], " for stage ", stage,
                                  ", but a replica of this stage executes at most ", max_turns,
                                  " micro-batches in a step; lower it"));
    }
    shape.extra_forwards = extra_forwards;
    const schedule::Phases compute =
        remove_frozen_work(generate_phases(schedule::require_schedule(plan.schedule), shape), shape);
    const int slots = std::max(shape.slots, count_slots_for_any_durations(compute.body));
    std::string fault;
    std::optional<ProvedPrograms> proved = try_slots(compute, shape, slots, fault);
    if (!proved) throw BugError(cat("schedule ", plan.schedule, " cannot be run: ", fault));
    plan.training = *std::move(proved);
}

bool has_split_backward(const Plan& plan, int stage) {
    return std::ranges::any_of(plan.training.programs, [&](const schedule::Program& program) {
        return std::ranges::any_of(program, [&](const schedule::Instruction& each) {
            return each.op == schedule::Op::backward_input && each.stage == stage;
        });
    });
}

Plan raise_recomputation(Plan plan, Recompute level) {
    const auto is_split = [&](int stage) { return has_split_backward(plan, stage); };
    std::vector<Recompute> levels(plan.recompute.size(), level);
    for (const layout::Team& team : plan.teams) {
        if (std::ranges::none_of(team.stages, is_split)) continue;
        for (const int stage : team.stages)
            levels[static_cast<std::size_t>(stage)] = std::min(level, Recompute::selective);
    }
    for (std::size_t stage = 0; stage < levels.size(); ++stage)
        plan.recompute[stage] = std::max(plan.recompute[stage], levels[stage]);
    return plan;
}

}  // namespace trireme::plan
