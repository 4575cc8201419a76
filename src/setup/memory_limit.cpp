#include "trireme/setup/memory_limit.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/stage_costs.hpp"

namespace trireme::setup {
namespace {

// Predicted memory of a rank.
struct Need {
    std::size_t bytes = 0;
    std::size_t activation = 0;  // part of `bytes`: one micro-batch in one stage
};

std::vector<Need> needs_of(const plan::Plan& plan, const PlannedRun& run) {
    const SizedPlan sized(run.model, plan, run.dtype, run.largest,
                          memory_space_of(run.config.precision.device));
    const stage::GradientPlan gradients = gradient_plan(sized);
    const optim::OptimizerConfig* optimizer = run.trains ? &run.config.optimizer : nullptr;
    const bool saves = run.config.run.checkpoint_every > 0;
    std::vector<Need> needs;
    for (const RankMemory& memory : memory_of_ranks(sized, optimizer, gradients, run.ranks, saves))
        needs.push_back({.bytes = memory.total(), .activation = memory.activation});
    return needs;
}

// Returns the rank that needs most.
std::size_t fullest(const std::vector<Need>& needs) {
    const auto most = std::max_element(needs.begin(), needs.end(),
                                       [](const Need& a, const Need& b) { return a.bytes < b.bytes; });
    return static_cast<std::size_t>(most - needs.begin());
}

// Returns the number of activations that a team may keep, if one of its ranks has this need while the team
// keeps `kept`.
long long bound_by(const Need& need, std::size_t limit, int kept) {
    const std::size_t each = std::max<std::size_t>(1, need.activation);
    if (need.bytes <= limit) return kept + static_cast<long long>((limit - need.bytes) / each);
    return kept - static_cast<long long>((need.bytes - limit + each - 1) / each);
}

// Returns the bound of each team. The bounds of teams within the limit are not lowered.
std::vector<int> bounds_by(const std::vector<Need>& needs, std::size_t limit, const plan::Plan& plan,
                           const std::vector<int>& before) {
    const std::vector<int> least = least_activations(plan.training.shape);
    std::vector<int> bounds;
    for (std::size_t t = 0; t < plan.teams.size(); ++t) {
        const int kept = plan.training.proof.peak_activations[t];
        long long bound = plan.microbatches() * static_cast<long long>(plan.teams[t].stages.size());
        for (const int rank : plan.teams[t].ranks) {
            bound = std::min(bound, bound_by(needs[static_cast<std::size_t>(rank)], limit, kept));
        }
        const bool is_over = bound < kept;
        if (!before.empty() && !is_over) bound = before[t];
        bounds.push_back(static_cast<int>(std::max<long long>(bound, least[t])));
    }
    return bounds;
}

// A plan and the memory that it needs.
struct Trial {
    plan::Plan plan;
    std::vector<Need> needs;

    bool fits(std::size_t limit) const { return needs[fullest(needs)].bytes <= limit; }
};

Trial trial_of(plan::Plan plan, const PlannedRun& run) {
    std::vector<Need> needs = needs_of(plan, run);
    return {std::move(plan), std::move(needs)};
}

// Lowers the bounds of teams until the plan fits, or until no bound can be lowered further.
Trial narrowed(Trial trial, const PlannedRun& run, MemoryRoom room) {
    const std::size_t limit = run.config.layout.memory_limit;
    while (!trial.fits(limit)) {
        std::vector<int> lower = bounds_by(trial.needs, limit, trial.plan, room.most_activations);
        if (lower == room.most_activations) break;
        room.most_activations = std::move(lower);
        trial = trial_of(plan_layout(run.config, run.model, trial.plan.layout, run.request, room), run);
    }
    return trial;
}

Trial with_halves_in(const std::vector<bool>& may_split, const layout::Layout& layout, const PlannedRun& run) {
    const MemoryRoom room{.most_activations = {}, .may_split = may_split, .may_go_ahead = false};
    return narrowed(trial_of(plan_layout(run.config, run.model, layout, run.request, room), run), run, room);
}

// Returns per stage whether all teams that hold it fit.
std::vector<bool> stages_that_fit(const Trial& trial, std::size_t limit) {
    std::vector<bool> fit(trial.plan.layout.stages.size(), true);
    for (const layout::Team& team : trial.plan.teams) {
        for (const int rank : team.ranks) {
            if (trial.needs[static_cast<std::size_t>(rank)].bytes <= limit) continue;
            for (const int stage : team.stages) fit[static_cast<std::size_t>(stage)] = false;
        }
    }
    return fit;
}

double seconds_of(const plan::Plan& plan, const PlannedRun& run) {
    const std::vector<schedule::StageCost> costs = costs_of(run.config, run.model, plan);
    return predict_step(plan.training.phases(), plan.training.shape, costs).seconds;
}

// First gives up the backup for speculative updates. Then tries whole backward passes everywhere, only where
// memory is short, and nowhere. Returns the fastest plan that fits, or the first one if none fits.
Trial searched(Trial free, const PlannedRun& run) {
    const std::size_t limit = run.config.layout.memory_limit;
    if (free.fits(limit)) return free;
    const MemoryRoom no_backup{.may_go_ahead = false};
    free = trial_of(plan_layout(run.config, run.model, free.plan.layout, run.request, no_backup), run);
    if (free.fits(limit)) return free;
    const std::vector<bool> fit = stages_that_fit(free, limit);
    const layout::Layout layout = free.plan.layout;
    Trial best = with_halves_in(std::vector<bool>(fit.size(), false), layout, run);
    std::array others{with_halves_in(fit, layout, run), narrowed(std::move(free), run, no_backup)};
    for (Trial& other : others) {
        if (!other.fits(limit)) continue;
        const bool is_shorter = seconds_of(other.plan, run) < seconds_of(best.plan, run);
        if (is_shorter || !best.fits(limit)) best = std::move(other);
    }
    return best;
}

[[noreturn]] void refuse(const Trial& trial, const PlannedRun& run) {
    const std::size_t rank = fullest(trial.needs);
    const auto team = static_cast<std::size_t>(trial.plan.team_of(static_cast<int>(rank)));
    const int kept = trial.plan.training.proof.peak_activations[team];
    const bool is_searched = trial.plan.schedule == schedule::searched_schedule;
    throw ConfigError(cat("rank ", rank, " needs ", with_commas(trial.needs[rank].bytes),
                          " bytes with schedule ", trial.plan.schedule,
                          is_searched ? ", though it keeps no more than " : " and keeps ", kept,
                          kept == 1 ? " micro-batch" : " micro-batches", ", but --memory-limit is ",
                          with_commas(run.config.layout.memory_limit),
                          "; raise it, or use more --microbatches, more ranks, --recompute",
                          is_searched ? "" : ", or --schedule auto"));
}

}  // namespace

plan::Plan within_memory_limit(plan::Plan plan, const PlannedRun& run) {
    if (run.config.layout.memory_limit == 0) return plan;
    Trial trial = trial_of(std::move(plan), run);
    if (trial.plan.schedule == schedule::searched_schedule) trial = searched(std::move(trial), run);
    if (!trial.fits(run.config.layout.memory_limit)) refuse(trial, run);
    return std::move(trial.plan);
}

}  // namespace trireme::setup
