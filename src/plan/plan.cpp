#include "trireme/plan/plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/own_programs.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme {
namespace {

constexpr int few_slots = 4;                 // up to here slots are tried one by one
constexpr int most_micro_batches = 1 << 16;  // of a step: far beyond any use, and programs still fit in memory

// On a grid: as many as every stage has.
int replicas_of(const Layout& layout) { return static_cast<int>(layout.stages.front().replicas.size()); }

PipelineShape shape_of_grid(const PlanWish& wish, const std::vector<Team>& teams, int micro_batches_each) {
    const int replicas = replicas_of(wish.layout);
    const int pipe = static_cast<int>(teams.size()) / replicas;
    const int chunks = static_cast<int>(wish.layout.stages.size()) / pipe;
    return grid_shape(pipe, replicas, chunks, micro_batches_each);
}

PipelineShape uneven_shape_of(const PlanWish& wish, const std::vector<Team>& teams) {
    PipelineShape shape{.teams = static_cast<int>(teams.size()),
                        .micro_batches = wish.micro_batches,
                        .holders = {},
                        .executor = {}};
    for (std::size_t s = 0; s < wish.layout.stages.size(); ++s) {
        std::vector<int>& holders = shape.holders.emplace_back();
        const std::size_t replicas = wish.layout.stages[s].replicas.size();
        for (std::size_t r = 0; r < replicas; ++r) {
            holders.push_back(team_of(teams, wish.layout, static_cast<int>(s), static_cast<int>(r)));
        }
        std::vector<int>& executor = shape.executor.emplace_back();
        for (std::size_t m = 0; m < static_cast<std::size_t>(wish.micro_batches); ++m) {
            executor.push_back(holders[m % replicas]);
        }
    }
    return shape;
}

bool has_chunks(const Layout& layout, const std::vector<Team>& teams) {
    return teams.size() < layout.stages.size() * layout.stages.front().replicas.size();
}

PipelineShape shape_of(const PlanWish& wish, const std::vector<Team>& teams) {
    const bool is_on_grid = is_grid(wish.layout);
    const int rows = is_on_grid ? replicas_of(wish.layout) : 1;
    const int most = std::max(1, most_micro_batches / (wish.is_each ? rows : 1));
    if (wish.micro_batches < 1 || wish.micro_batches > most) {
        throw ConfigError(
            cat("--microbatches ", wish.micro_batches, " cannot be used; it must be from 1 to ", most));
    }
    const bool is_even = wish.is_each || wish.micro_batches % rows == 0;
    if (is_on_grid && !is_even && has_chunks(wish.layout, teams)) {
        throw ConfigError(cat("--microbatches ", wish.micro_batches, " does not divide among the ", rows,
                              " replicas of a layout with several stages on a rank; use a multiple of ", rows));
    }
    if (!is_on_grid || !is_even) return uneven_shape_of(wish, teams);
    return shape_of_grid(wish, teams, wish.is_each ? wish.micro_batches : wish.micro_batches / rows);
}

PipelineShape forward_only(PipelineShape shape) {
    shape.is_training = false;
    return shape;
}

// None where the programs cannot run with so many slots; `fault` says why.
std::optional<ProvedPrograms> tried(const std::vector<Program>& programs, PipelineShape shape, int slots,
                                    std::string& fault) {
    shape.slots = slots;
    std::vector<Program> whole = lower(programs, shape);
    Verdict verdict = check(whole, shape);
    if (!verdict.is_proved()) {
        fault = verdict.fault->what;
        return std::nullopt;
    }
    return ProvedPrograms{.shape = std::move(shape),
                          .programs = std::move(whole),
                          .peak_of_stage = std::move(verdict.proof.peak_of_stage),
                          .peak_activations = std::move(verdict.proof.peak_activations)};
}

// With equal costs, whatever these are.
double duration(const ProvedPrograms& proved) {
    const std::vector<StageCost> costs(proved.shape.holders.size());
    return predict(proved.programs, proved.shape, costs).makespan;
}

int next_slots(int slots) { return slots < few_slots ? slots + 1 : 2 * slots; }

// With the fewest slots with which nobody waits for one: orders that send a round of micro-batches before the
// first of them is read need many, others one. `place` is the schedule's name, or its file's.
ProvedPrograms proved(const std::vector<Program>& programs, const PipelineShape& shape,
                      const std::string& place) {
    const int enough = shape.micro_batches * shape.stages();  // all messages that a channel ever has
    std::string fault;
    std::optional<ProvedPrograms> roomy = tried(programs, shape, enough, fault);
    if (!roomy) throw ConfigError(cat(place, " cannot be run: ", fault));
    const double shortest = duration(*roomy);
    for (int slots = 1; slots < enough; slots = next_slots(slots)) {
        std::optional<ProvedPrograms> narrow = tried(programs, shape, slots, fault);
        if (narrow && duration(*narrow) <= shortest) return *std::move(narrow);
    }
    return *std::move(roomy);
}

ProvedPrograms generated(ScheduleKind kind, const PipelineShape& shape) {
    return proved(generate(kind, shape), shape, cat("schedule ", name_of(kind)));
}

void add_programs(const PlanWish& wish, Plan& plan) {
    const PipelineShape shape = shape_of(wish, plan.teams);
    if (wish.own_programs.empty()) {
        const ScheduleKind kind = schedule_named(wish.schedule);
        plan.training = generated(kind, shape);
        plan.evaluation = generated(kind, forward_only(shape));
        return;
    }
    const std::vector<Program> own = programs_of_teams(wish.own_programs, plan.teams, shape, wish.schedule);
    plan.training = proved(own, shape, wish.schedule);
    plan.evaluation = proved(forward_part(plan.training.programs), forward_only(shape), wish.schedule);
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

Plan make_plan(const PlanWish& wish) {
    Plan plan{.layout = wish.layout,
              .teams = teams_of(wish.layout),
              .recompute = recompute_of_stages(wish),
              .cuts_rows = wish.cuts_rows,
              .shards_optimizer = wish.shards_optimizer,
              .schedule = wish.schedule,
              .training = {},
              .evaluation = {}};
    add_programs(wish, plan);
    return plan;
}

}  // namespace trireme
