#include "trireme/setup/memory_limit.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/stage_costs.hpp"

namespace trireme::setup {
namespace {

// The predicted memory of a rank.
struct Need {
    std::size_t bytes = 0;
    std::size_t stash_bytes = 0;  // activation stash of one micro-batch in one stage, included in `bytes`
};

// Returns the predicted memory of each rank.
std::vector<Need> list_needs(const plan::Plan& plan, const PlannedRun& run) {
    SizedPlan sized_plan(run.model, plan, run.dtype, run.largest_microbatches,
                         find_memory_space(run.config.precision.device));
    sized_plan.step_levels = run.step_levels;
    sized_plan.uses_cache = uses_cache(run.config.policy);
    const stage::GradientPlan gradients = make_gradient_plan(sized_plan);
    const optim::OptimizerConfig* optimizer = run.trains ? &run.config.optimizer : nullptr;
    const bool saves_checkpoints = run.config.run.checkpoint_every > 0;
    std::vector<Need> needs;
    for (const RankMemory& memory :
         predict_memory_of_ranks(sized_plan, optimizer, gradients, run.ranks, saves_checkpoints))
        needs.push_back({.bytes = memory.total(), .stash_bytes = memory.activation});
    return needs;
}

// Returns the bytes that a rank may use.
std::size_t find_limit(const PlannedRun& run, std::size_t rank) {
    if (run.config.layout.memory_limit > 0) return run.config.layout.memory_limit;
    return run.device_memory.empty() ? std::numeric_limits<std::size_t>::max() : run.device_memory[rank];
}

// Returns the rank that needs the most bytes. `needs` has one entry per rank.
std::size_t find_neediest_rank(const std::vector<Need>& needs) {
    const auto max_need = std::max_element(needs.begin(), needs.end(),
                                           [](const Need& a, const Need& b) { return a.bytes < b.bytes; });
    return static_cast<std::size_t>(max_need - needs.begin());
}

// Returns the maximum number of activation stashes with which a rank stays within `limit` bytes. The number is
// negative if the rank exceeds the limit even without stashes. `need` is the memory of the rank with
// `peak_activations` stashes.
long long compute_max_activations(const Need& need, std::size_t limit, int peak_activations) {
    const std::size_t bytes_per_stash = std::max<std::size_t>(1, need.stash_bytes);
    if (need.bytes <= limit)
        return peak_activations + static_cast<long long>((limit - need.bytes) / bytes_per_stash);
    return peak_activations -
           static_cast<long long>((need.bytes - limit + bytes_per_stash - 1) / bytes_per_stash);
}

// Returns, per team, the maximum number of activation stashes with which all ranks of the team stay within
// their limits. A team that is within the limit keeps its maximum from the previous call. `previous` has the
// result of that call, and is empty in the first call. No maximum is below the number of stashes that the team
// needs to run.
std::vector<int> lower_max_activations(const std::vector<Need>& needs, const PlannedRun& run,
                                       const plan::Plan& plan, const std::vector<int>& previous) {
    const std::vector<int> min_activations = compute_min_activations(plan.training.shape);
    std::vector<int> max_activations;
    for (std::size_t t = 0; t < plan.teams.size(); ++t) {
        const int peak_activations = plan.training.proof.peak_activations[t];
        // A step has at most one stash per micro-batch and stage.
        long long team_max = plan.microbatches() * static_cast<long long>(plan.teams[t].stages.size());
        for (const int rank : plan.teams[t].ranks) {
            const auto r = static_cast<std::size_t>(rank);
            team_max =
                std::min(team_max, compute_max_activations(needs[r], find_limit(run, r), peak_activations));
        }
        const bool exceeds_limit = team_max < peak_activations;
        if (!previous.empty() && !exceeds_limit) team_max = previous[t];
        max_activations.push_back(static_cast<int>(std::max<long long>(team_max, min_activations[t])));
    }
    return max_activations;
}

// A plan and the memory that it needs.
struct Trial {
    plan::Plan plan;
    std::vector<Need> needs;  // per rank

    bool fits(const PlannedRun& run) const {
        for (std::size_t rank = 0; rank < needs.size(); ++rank)
            if (needs[rank].bytes > find_limit(run, rank)) return false;
        return true;
    }
};

Trial make_trial(plan::Plan plan, const PlannedRun& run) {
    std::vector<Need> needs = list_needs(plan, run);
    return {std::move(plan), std::move(needs)};
}

// Lowers the maximum number of activation stashes per team until the plan fits, or until no team that exceeds
// its limit can run with fewer stashes. `make_plan` has made the plan of `trial`.
Trial lower_activations(Trial trial, const PlannedRun& run, const BoundedPlan& make_plan) {
    std::vector<int> max_activations;
    while (!trial.fits(run)) {
        std::vector<int> lower = lower_max_activations(trial.needs, run, trial.plan, max_activations);
        if (lower == max_activations) break;
        max_activations = std::move(lower);
        trial = make_trial(make_plan(max_activations), run);
    }
    return trial;
}

// Same, for a plan of schedule auto that was made with `restrictions`.
Trial lower_activations(Trial trial, const PlannedRun& run, MemoryRestrictions restrictions) {
    const layout::Layout layout = trial.plan.layout;
    return lower_activations(std::move(trial), run, [&](const std::vector<int>& max_activations) {
        restrictions.max_activations = max_activations;
        return plan_layout(run.config, run.model, layout, run.request, restrictions);
    });
}

// Makes a trial without speculative updates. The stages for which `may_split` is true may split their backward
// passes. If the plan does not fit, calls lower_activations().
Trial make_trial_with_splits(const std::vector<bool>& may_split, const layout::Layout& layout,
                             const PlannedRun& run) {
    const MemoryRestrictions restrictions{
        .max_activations = {}, .may_split = may_split, .may_speculate = false};
    return lower_activations(
        make_trial(plan_layout(run.config, run.model, layout, run.request, restrictions), run), run,
        restrictions);
}

// Returns, per stage, true if all ranks that hold the stage are within their limits.
std::vector<bool> find_stages_within_limit(const Trial& trial, const PlannedRun& run) {
    std::vector<bool> within_limit(trial.plan.layout.stages.size(), true);
    for (const layout::Team& team : trial.plan.teams) {
        for (const int rank : team.ranks) {
            const auto r = static_cast<std::size_t>(rank);
            if (trial.needs[r].bytes <= find_limit(run, r)) continue;
            for (const int stage : team.stages) within_limit[static_cast<std::size_t>(stage)] = false;
        }
    }
    return within_limit;
}

// Returns the predicted time of a training step.
double predict_seconds(const plan::Plan& plan, const PlannedRun& run) {
    const std::vector<schedule::StageCost> costs = compute_costs(run.config, run.model, plan);
    return predict_step(plan.training.phases(), plan.training.shape, costs).seconds;
}

// Returns `trial`, whose plan has no restrictions, if it fits. Otherwise tries the plan without speculative
// updates, because such updates need a backup of weights and optimizer state. Returns this plan if it fits.
// Otherwise tries three plans that keep fewer activations: backward passes may be split in no stage, only in
// the stages within the limit, or in all stages. Returns the fastest of the three that fits, or the first one
// if none fits.
Trial search_fitting_plan(Trial trial, const PlannedRun& run) {
    if (trial.fits(run)) return trial;
    const MemoryRestrictions no_backup{.may_speculate = false};
    trial = make_trial(plan_layout(run.config, run.model, trial.plan.layout, run.request, no_backup), run);
    if (trial.fits(run)) return trial;
    const std::vector<bool> within_limit = find_stages_within_limit(trial, run);
    const layout::Layout layout = trial.plan.layout;
    Trial best = make_trial_with_splits(std::vector<bool>(within_limit.size(), false), layout, run);
    std::array alternatives{make_trial_with_splits(within_limit, layout, run),
                            lower_activations(std::move(trial), run, no_backup)};
    for (Trial& alternative : alternatives) {
        if (!alternative.fits(run)) continue;
        const bool is_faster = predict_seconds(alternative.plan, run) < predict_seconds(best.plan, run);
        if (is_faster || !best.fits(run)) best = std::move(alternative);
    }
    return best;
}

// Returns the plan itself or, with schedule auto, the best plan of its layout. The result may exceed the limit.
Trial search_trial(plan::Plan plan, const PlannedRun& run) {
    Trial trial = make_trial(std::move(plan), run);
    if (trial.plan.schedule == schedule::searched_schedule_name)
        trial = search_fitting_plan(std::move(trial), run);
    return trial;
}

[[noreturn]] void throw_limit_exceeded(const Trial& trial, const PlannedRun& run) {
    const std::size_t rank = find_neediest_rank(trial.needs);
    const auto team = static_cast<std::size_t>(trial.plan.find_team(static_cast<int>(rank)));
    const int peak_activations = trial.plan.training.proof.peak_activations[team];
    const bool is_searched = trial.plan.schedule == schedule::searched_schedule_name;
    throw ConfigError(
        cat("rank ", rank, " needs ", format_with_commas(trial.needs[rank].bytes), " bytes with schedule ",
            trial.plan.schedule, is_searched ? ", which keeps only " : ", which keeps ",
            format_count(static_cast<std::size_t>(peak_activations), "micro-batch"),
            " in flight, but --memory-limit is ", format_with_commas(run.config.layout.memory_limit),
            " bytes; raise it, or use more --microbatches, more ranks",
            is_searched ? " or --recompute" : ", --recompute or --schedule auto"));
}

}  // namespace

plan::Plan fit_to_memory_limit(plan::Plan plan, const PlannedRun& run) {
    if (run.config.layout.memory_limit == 0) return plan;
    Trial trial = search_trial(std::move(plan), run);
    if (!trial.fits(run)) throw_limit_exceeded(trial, run);
    return std::move(trial.plan);
}

std::optional<plan::Plan> find_plan_within_limit(plan::Plan plan, const PlannedRun& run) {
    if (run.config.layout.memory_limit == 0) return plan;
    Trial trial = search_trial(std::move(plan), run);
    if (!trial.fits(run)) return std::nullopt;
    return std::move(trial.plan);
}

plan::Plan keep_fewer_activations(const PlannedRun& run, const BoundedPlan& make_plan) {
    return lower_activations(make_trial(make_plan({}), run), run, make_plan).plan;
}

}  // namespace trireme::setup
