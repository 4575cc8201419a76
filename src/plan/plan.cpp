#include "trireme/plan/plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/own_programs.hpp"
#include "trireme/base/error.hpp"
#include "trireme/layout/shares.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/search.hpp"

namespace trireme::plan {
namespace {

constexpr int few_slots = 4;                // up to this number all slot counts are tried
constexpr int most_microbatches = 1 << 16;  // per step: far beyond any use, and programs still fit in memory

// Returns the number of pipeline rows of a grid or a V: the replicas of each stage.
int rows_of(const layout::Layout& layout) { return static_cast<int>(layout.stages.front().replicas.size()); }

schedule::PipelineShape shape_of_rows(const PlanWish& wish, const std::vector<layout::Team>& teams,
                                      int microbatches_each) {
    const int rows = rows_of(wish.layout);
    const int pipe = static_cast<int>(teams.size()) / rows;
    const int chunks = static_cast<int>(wish.layout.stages.size()) / pipe;
    return is_grid(wish.layout) ? schedule::grid_shape(pipe, rows, chunks, microbatches_each)
                                : schedule::v_shape(pipe, rows, microbatches_each);
}

schedule::PipelineShape uneven_shape_of(const PlanWish& wish, const std::vector<layout::Team>& teams) {
    schedule::PipelineShape shape{.teams = static_cast<int>(teams.size()),
                                  .microbatches = wish.microbatches,
                                  .holders = {},
                                  .executor = {}};
    for (std::size_t s = 0; s < wish.layout.stages.size(); ++s) {
        std::vector<int>& holders = shape.holders.emplace_back();
        std::vector<double> turns;
        for (const layout::ReplicaLayout& replica : wish.layout.stages[s].replicas) {
            const int number = static_cast<int>(turns.size());
            holders.push_back(team_of(teams, wish.layout, static_cast<int>(s), number));
            turns.push_back(static_cast<double>(replica.turns));
        }
        std::vector<int>& executor = shape.executor.emplace_back();
        for (const std::size_t replica : layout::take_turns(turns, static_cast<std::size_t>(wish.microbatches)))
            executor.push_back(holders[replica]);
    }
    return shape;
}

bool has_chunks(const layout::Layout& layout, const std::vector<layout::Team>& teams) {
    return teams.size() < layout.stages.size() * layout.stages.front().replicas.size();
}

schedule::PipelineShape forward_only(schedule::PipelineShape shape) {
    shape.is_training = false;
    shape.validates = false;
    return shape;
}

// Proves the programs with `slots` slots. Returns nothing if they cannot run with them; `fault` says why.
std::optional<ProvedPrograms> tried(const schedule::Phases& compute, schedule::PipelineShape shape, int slots,
                                    std::string& fault) {
    shape.slots = slots;
    fault = obstacle_to_lowering(compute, shape);
    if (!fault.empty()) return std::nullopt;
    schedule::Phases phases = lower_phases(compute, shape);
    schedule::PipelineShape many = shape;
    many.steps = enough_steps(phases, shape.microbatches);
    schedule::Verdict verdict = check(unrolled(phases, shape, many.steps), many);
    if (!verdict.is_proved()) {
        fault = verdict.fault->what;
        return std::nullopt;
    }
    const int ahead = look_ahead(phases, shape.microbatches);
    return ProvedPrograms{.shape = std::move(shape),
                          .prologue = std::move(phases.prologue),
                          .programs = std::move(phases.body),
                          .look_ahead = ahead,
                          .proof = std::move(verdict.proof)};
}

// Returns the time of enough_steps() steps.
double duration(const ProvedPrograms& proved, const std::vector<schedule::StageCost>& costs) {
    schedule::PipelineShape many = proved.shape;
    many.steps = enough_steps(proved.phases(), many.microbatches);
    return predict(unrolled(proved.phases(), proved.shape, many.steps), many, costs).makespan;
}

int most_stages_of_a_team(const schedule::PipelineShape& shape) {
    std::vector<int> held(static_cast<std::size_t>(shape.teams));
    for (const std::vector<int>& holders : shape.holders) {
        for (const int team : holders) ++held[static_cast<std::size_t>(team)];
    }
    return *std::max_element(held.begin(), held.end());
}

// Returns as many slots as a channel can use: its messages of a step. If work is in flight across the end of a
// step, these are the messages of a step and of a full pipeline.
int enough_slots(const schedule::Phases& compute, const schedule::PipelineShape& shape) {
    const bool is_in_flight = keeps_work_in_flight(compute, shape.microbatches);
    if (!is_in_flight) return shape.microbatches * shape.stages();
    return shape.microbatches * most_stages_of_a_team(shape) + shape.stages();
}

int next_slots(int slots) { return slots < few_slots ? slots + 1 : 2 * slots; }

// Proves the programs with the fewest slots that do not slow them down. Orders that send several micro-batches
// before the first of them is read need many slots, others one. `place` is the name of the schedule or its
// file.
ProvedPrograms proved(const schedule::Phases& compute, const schedule::PipelineShape& shape,
                      const std::vector<schedule::StageCost>& costs, const std::string& place) {
    const int enough = enough_slots(compute, shape);
    std::string fault;
    std::optional<ProvedPrograms> roomy = tried(compute, shape, enough, fault);
    if (!roomy) throw ConfigError(cat(place, " cannot be run: ", fault));
    const double shortest = duration(*roomy, costs);
    for (int slots = 1; slots < enough; slots = next_slots(slots)) {
        std::optional<ProvedPrograms> narrow = tried(compute, shape, slots, fault);
        if (narrow && duration(*narrow, costs) <= shortest) return *std::move(narrow);
    }
    return *std::move(roomy);
}

// Returns phases without prologue, from one program of a step per team.
schedule::Phases of_one_step(std::vector<schedule::Program> programs) {
    std::vector<schedule::Program> none(programs.size());
    return {.prologue = std::move(none), .body = std::move(programs)};
}

std::vector<schedule::StageCost> equal_costs(const schedule::PipelineShape& shape) {
    return std::vector<schedule::StageCost>(shape.holders.size());
}

// All stages of a team are updated at the first of their STEPs, so that the STEPs of a step must be adjacent.
void refuse_scattered_updates(const schedule::Phases& phases, const std::string& place) {
    for (const std::vector<schedule::Program>* part : {&phases.prologue, &phases.body}) {
        for (const schedule::Program& program : *part) {
            const auto is_step = [](const schedule::Instruction& i) { return i.op == schedule::Op::step; };
            const auto first = std::find_if(program.begin(), program.end(), is_step);
            const auto behind = std::find_if_not(first, program.end(), is_step);
            const auto apart = std::find_if(behind, program.end(), is_step);
            if (apart == program.end()) continue;
            throw ConfigError(cat(place, " has ", to_string(*behind), " between ", to_string(*first), " and ",
                                  to_string(*apart), "; let the updates of a step stand together"));
        }
    }
}

void add_own(const PlanWish& wish, schedule::PipelineShape shape, Plan& plan) {
    const schedule::Phases own = programs_of_teams(wish.own_programs, plan.teams, shape, wish.schedule);
    refuse_scattered_updates(own, wish.schedule);
    shape.validates = validates(own, wish.schedule);
    const std::vector<schedule::StageCost> costs = equal_costs(shape);
    std::string fault;
    const bool runs_together = tried(own, shape, enough_slots(own, shape), fault).has_value();
    shape.updates_alone = !runs_together && !shape.validates && look_ahead(own, shape.microbatches) > 0;
    plan.training = proved(own, shape, costs, wish.schedule);
    const schedule::Phases forwards = forward_part(plan.training.phases(), shape);
    plan.evaluation = proved(forwards, forward_only(shape), costs, wish.schedule);
}

void add_generated(const PlanWish& wish, schedule::PipelineShape shape, Plan& plan) {
    const schedule::Schedule& schedule = schedule::schedule_named(wish.schedule);
    const std::vector<schedule::StageCost> costs = equal_costs(shape);
    const std::string place = cat("schedule ", wish.schedule);
    const schedule::PipelineShape forwards = forward_only(shape);
    plan.evaluation = proved(of_one_step(generate(schedule, forwards)), forwards, costs, place);
    plan.training = proved(generate_phases(schedule, shape), with_updates_of(schedule, shape), costs, place);
}

// Stages with full recompute are not split: recomputed activations serve the whole backward of a layer.
std::vector<bool> divisible_stages(const PlanWish& wish, const std::vector<Recompute>& recompute) {
    std::vector<bool> divisible;
    for (std::size_t stage = 0; stage < recompute.size(); ++stage) {
        const bool may = wish.may_split.empty() || wish.may_split[stage];
        divisible.push_back(may && recompute[stage] != Recompute::full);
    }
    return divisible;
}

bool keeps_to_bounds(const ProvedPrograms& proved) {
    const std::vector<int>& most = proved.shape.most_activations;
    return std::equal(most.begin(), most.end(), proved.proof.peak_activations.begin(),
                      [](int bound, int kept) { return kept <= bound; });
}

double seconds_of_step(const ProvedPrograms& proved, const std::vector<schedule::StageCost>& costs) {
    return predict_step(proved.phases(), proved.shape, costs).seconds;
}

// Returns the programs of `phases` if they can run, keep to the bounds and have shorter steps than `known`.
std::optional<ProvedPrograms> shorter(const ProvedPrograms& known, const schedule::Phases& phases,
                                      const schedule::PipelineShape& shape,
                                      const std::vector<schedule::StageCost>& costs) {
    std::string fault;
    const auto roomy = tried(phases, shape, enough_slots(phases, shape), fault);
    if (!roomy || !keeps_to_bounds(*roomy)) return std::nullopt;
    if (seconds_of_step(*roomy, costs) >= seconds_of_step(known, costs)) return std::nullopt;
    return proved(phases, shape, costs, "schedule auto");
}

void add_searched(const PlanWish& wish, const schedule::PipelineShape& shape, Plan& plan) {
    const std::vector<bool> divisible = divisible_stages(wish, plan.recompute);
    const auto searched = [&](const schedule::PipelineShape& of,
                              const std::vector<schedule::StageCost>& costs) {
        return proved(of_one_step(search_programs(of, costs, divisible)), of, costs, "schedule auto");
    };
    const std::vector<schedule::StageCost> costs = wish.costs.empty() ? equal_costs(shape) : wish.costs;
    plan.training = searched(shape, costs);
    plan.evaluation = searched(forward_only(shape), equal_costs(shape));
    if (!wish.may_go_ahead) return;
    schedule::PipelineShape ahead = shape;
    ahead.validates = true;
    for (const schedule::Phases& phases :
         programs_ahead(compute_only(plan.training.programs), ahead, divisible)) {
        if (auto other = shorter(plan.training, phases, ahead, costs)) plan.training = *std::move(other);
    }
}

void add_programs(const PlanWish& wish, Plan& plan) {
    schedule::PipelineShape shape = shape_of(wish, plan.teams);
    shape.most_activations = wish.most_activations;
    shape.ties_ends = wish.ties_ends;
    if (!wish.own_programs.body.empty()) {
        add_own(wish, shape, plan);
    } else if (wish.schedule == schedule::searched_schedule) {
        add_searched(wish, shape, plan);
    } else {
        add_generated(wish, shape, plan);
    }
}

std::vector<Recompute> recompute_of_stages(const PlanWish& wish) {
    const std::size_t stages = wish.layout.stages.size();
    if (wish.recompute.empty()) return std::vector<Recompute>(stages, Recompute::none);
    if (wish.recompute.size() == 1) return std::vector<Recompute>(stages, wish.recompute.front());
    if (wish.recompute.size() == stages) return wish.recompute;
    throw ConfigError(cat("--recompute names ", wish.recompute.size(), " ways, but the layout has ", stages,
                          stages == 1 ? " stage" : " stages", "; name one for all stages, or one for each"));
}

}  // namespace

schedule::Program ProvedPrograms::long_program(int team) const {
    return unrolled_of(team, phases(), shape, enough_steps(phases(), shape.microbatches));
}

std::string obstacle_to_shape(const PlanWish& wish, const std::vector<layout::Team>& teams) {
    const int count = wish.microbatches;
    const bool has_rows = is_grid(wish.layout) || is_v(wish.layout);
    const int rows = has_rows ? rows_of(wish.layout) : 1;
    const int max_count = std::max(1, most_microbatches / (wish.is_each ? rows : 1));
    if (count < 1 || count > max_count)
        return cat("--microbatches ", count, " cannot be used; it must be from 1 to ", max_count);
    if (!has_rows || !has_chunks(wish.layout, teams)) return {};
    if (!wish.is_each && count % rows != 0)
        return cat("--microbatches ", count, " does not divide among the ", rows,
                   " replicas of a layout with several stages on a rank; use a multiple of ", rows);
    if (!takes_even_turns(wish.layout))
        return "replicas of a layout with several stages on a rank take as many turns each; omit \"turns\"";
    return {};
}

schedule::PipelineShape shape_of(const PlanWish& wish, const std::vector<layout::Team>& teams) {
    if (const std::string obstacle = obstacle_to_shape(wish, teams); !obstacle.empty())
        throw ConfigError(obstacle);
    const bool has_rows = is_grid(wish.layout) || is_v(wish.layout);
    const int rows = has_rows ? rows_of(wish.layout) : 1;
    const bool divides = wish.is_each || wish.microbatches % rows == 0;
    if (!has_rows || !divides || !takes_even_turns(wish.layout)) return uneven_shape_of(wish, teams);
    return shape_of_rows(wish, teams, wish.is_each ? wish.microbatches : wish.microbatches / rows);
}

Plan plan_without_programs(const PlanWish& wish) {
    return {.layout = wish.layout,
            .teams = teams_of(wish.layout),
            .recompute = recompute_of_stages(wish),
            .cuts_rows = wish.cuts_rows,
            .shards_optimizer = wish.shards_optimizer,
            .schedule = wish.schedule,
            .training = {},
            .evaluation = {}};
}

Plan make_plan(const PlanWish& wish) {
    Plan plan = plan_without_programs(wish);
    add_programs(wish, plan);
    return plan;
}

}  // namespace trireme::plan
