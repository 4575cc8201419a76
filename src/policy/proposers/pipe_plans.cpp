#include "policy/proposers/pipe_plans.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "policy/proposers/cut_layout.hpp"

namespace trireme::policy {
namespace {

constexpr double backward_fraction = 2.0 / 3;  // of the passes of a micro-batch
constexpr std::size_t max_microbatch_factor =
    6;  // micro-batches per stage of a pipeline, as in PipeTransformer
// Work of the search for different numbers of replicas, in pairs of a layer and a team per number of
// micro-batches.
constexpr std::size_t max_search_work = 3072;
constexpr std::size_t max_fine_search = 256;     // pairs of a layer and a team
constexpr std::size_t max_replica_numbers = 32;  // of a stage in this search

std::vector<PipePlan> sort_by_seconds(std::vector<std::pair<double, PipePlan>> plans) {
    std::ranges::stable_sort(plans, {}, [](const auto& plan) { return plan.first; });
    std::vector<PipePlan> sorted;
    for (auto& [seconds, plan] : plans) sorted.push_back(std::move(plan));
    return sorted;
}

bool are_equal(const std::vector<std::size_t>& counts) {
    return std::ranges::adjacent_find(counts, std::not_equal_to<>()) == counts.end();
}

// Returns the teams of the first stages of all pipelines, then those of the second stages, and so on.
std::vector<std::size_t> list_teams_by_stage(const std::vector<std::vector<std::size_t>>& pipelines) {
    std::vector<std::size_t> teams;
    for (std::size_t stage = 0; stage < pipelines.front().size(); ++stage)
        for (const std::vector<std::size_t>& pipeline : pipelines) teams.push_back(pipeline[stage]);
    return teams;
}

}  // namespace

PipePlans::PipePlans(const DepthRules& rules, const plan::StepAhead& step, const std::vector<double>& slowness)
    : rules_(rules), step_(step), slowness_(slowness) {
    TimedPlans plans;
    for (std::size_t stages = 1; stages <= std::min(rules_.max_stages, count_layers()); ++stages)
        for (const std::vector<std::size_t>& teams : list_team_orders(stages))
            add_pipelines(stages, teams, plans);
    equal_ = sort_by_seconds(std::move(plans));
    std::ranges::sort(counts_);
    counts_.erase(std::ranges::unique(counts_).begin(), counts_.end());
    if (rules_.fixed_pipelines > 0 || rules_.count_samples) return;
    plans.clear();
    for (const std::size_t microbatches : list_unequal_counts()) add_unequal(microbatches, plans);
    unequal_ = sort_by_seconds(std::move(plans));
}

int PipePlans::find_node(std::size_t team) const {
    return rules_.nodes[static_cast<std::size_t>(rules_.layers.teams[team].front())];
}

std::vector<PipePlans::Pipeline> PipePlans::place_in_nodes(std::size_t stages) const {
    std::vector<Pipeline> pipelines;
    for (std::size_t begin = 0; begin < count_teams();) {
        std::size_t end = begin + 1;
        while (end < count_teams() && find_node(end) == find_node(begin)) ++end;
        for (; begin + stages <= end; begin += stages) {
            pipelines.emplace_back(stages);
            std::iota(pipelines.back().begin(), pipelines.back().end(), begin);
        }
        begin = end;
    }
    return pipelines;
}

std::vector<PipePlans::Pipeline> PipePlans::place_consecutively(std::size_t stages) const {
    std::vector<Pipeline> pipelines;
    for (std::size_t begin = 0; begin + stages <= count_teams(); begin += stages) {
        pipelines.emplace_back(stages);
        std::iota(pipelines.back().begin(), pipelines.back().end(), begin);
    }
    return pipelines;
}

// Each pipeline has the first ranks of one of `max_stages` stages, or of fewer if these do not fit.
std::vector<PipePlans::Pipeline> PipePlans::place_fixed_pipelines(std::size_t stages) const {
    for (const auto place : {&PipePlans::place_in_nodes, &PipePlans::place_consecutively}) {
        for (std::size_t length = rules_.max_stages; length >= stages; --length) {
            std::vector<Pipeline> pipelines = (this->*place)(length);
            if (pipelines.size() < rules_.fixed_pipelines) continue;
            pipelines.resize(rules_.fixed_pipelines);
            for (Pipeline& pipeline : pipelines) pipeline.resize(stages);
            return pipelines;
        }
    }
    return {};
}

// Returns the possible PipePlan::teams of pipelines with `stages` stages.
std::vector<std::vector<std::size_t>> PipePlans::list_team_orders(std::size_t stages) const {
    if (rules_.fixed_pipelines > 0) {
        std::vector<Pipeline> pipelines = place_fixed_pipelines(stages);
        if (pipelines.empty()) return {};
        std::vector<std::size_t> by_rank(stages * pipelines.size());
        std::iota(by_rank.begin(), by_rank.end(), 0);
        return {list_teams_by_stage(pipelines), by_rank};
    }
    const std::vector<Pipeline> in_nodes = place_in_nodes(stages);
    const std::vector<Pipeline> consecutive = place_consecutively(stages);
    std::vector<std::vector<std::size_t>> orders;
    if (!in_nodes.empty()) orders.push_back(list_teams_by_stage(in_nodes));
    if (consecutive.size() > in_nodes.size()) orders.push_back(list_teams_by_stage(consecutive));
    if (stages == 1 || consecutive.size() < 2) return orders;
    std::vector<std::size_t>& by_rank = orders.emplace_back(stages * consecutive.size());
    std::iota(by_rank.begin(), by_rank.end(), 0);
    return orders;
}

// Returns the numbers of micro-batches of a step, over all pipelines.
std::vector<std::size_t> PipePlans::list_microbatches(std::size_t stages, std::size_t pipelines) const {
    const std::size_t samples = count_samples(pipelines) / pipelines;  // of a pipeline
    std::vector<std::size_t> counts;
    for (std::size_t factor = 1; factor <= max_microbatch_factor && stages * factor <= samples; ++factor)
        counts.push_back(pipelines * stages * factor);
    if (samples > 0 && samples < stages * max_microbatch_factor && samples % stages != 0)
        counts.push_back(pipelines * samples);
    return counts;
}

// Returns LengthRules::reduce_seconds for pipelines with the links of their layout. `teams` are those of
// PipePlan.
std::vector<double> PipePlans::predict_reductions(const std::vector<std::size_t>& teams,
                                                  std::size_t replicas) const {
    const auto all = static_cast<double>(replicas);
    double byte_seconds = 0;  // of a reduce-scatter in the slowest stage
    for (std::size_t begin = 0; begin < teams.size(); begin += replicas) {
        std::map<int, double> count_by_node;
        for (std::size_t team = begin; team < begin + replicas; ++team)
            count_by_node[find_node(teams[team])] += 1;
        for (const auto& [node, count] : count_by_node)
            byte_seconds = std::max({byte_seconds, (count - 1) / all * rules_.near_byte_seconds,
                                     (all - count) / all * rules_.far_byte_seconds});
    }
    std::vector<double> seconds;
    for (const double bytes : rules_.gradient_bytes)
        seconds.push_back(replicas == 1 ? 0 : bytes * byte_seconds * all / (all - 1));
    return seconds;
}

std::size_t PipePlans::count_samples(std::size_t pipelines) const {
    return rules_.count_samples ? rules_.count_samples(pipelines) : step_.lengths.size();
}

// If the step has another number of samples, their lengths repeat those of `step_`.
CutProblem PipePlans::make_problem(std::size_t microbatches, std::size_t samples) {
    const auto [costs, is_new] = costs_.try_emplace(std::pair(microbatches, samples));
    if (is_new) {
        plan::StepAhead step{.step = step_.step, .lengths = {}};
        for (std::size_t s = 0; s < samples; ++s)
            step.lengths.push_back(step_.lengths[s % step_.lengths.size()]);
        costs->second = rules_.layers.costs(step, static_cast<int>(microbatches));
    }
    return {.layer_seconds = costs->second.layer_seconds,
            .reduce_seconds = rules_.layers.reduce_seconds,
            .slowness = slowness_,
            .microbatches = static_cast<int>(microbatches),
            .send_seconds = costs->second.send_seconds,
            .cuts = rules_.layers.cuts,
            .reduce_overlap = backward_fraction,
            .memory = {.held_bytes = rules_.held_bytes,
                       .divided_bytes = rules_.divided_bytes,
                       .limit = rules_.memory_limit}};
}

// Adds the best cut for each number of micro-batches.
void PipePlans::add_pipelines(std::size_t stages, const std::vector<std::size_t>& teams, TimedPlans& plans) {
    const std::size_t replicas = teams.size() / stages;
    const std::size_t samples = count_samples(replicas);
    const std::vector<double> reduce_seconds = predict_reductions(teams, replicas);
    for (const std::size_t microbatches : list_microbatches(stages, replicas)) {
        counts_.push_back(microbatches);
        CutProblem problem = make_problem(microbatches, samples);
        problem.reduce_seconds = reduce_seconds;
        problem.cuts = list_all_cuts();
        problem.slowness.clear();
        for (const std::size_t team : teams) problem.slowness.push_back(slowness_[team]);
        problem.bounds = {.min_replicas = replicas, .max_replicas = replicas};
        if (const std::optional<StageCut> cut = find_best_cut(problem, stages))
            plans.emplace_back(cut->seconds / static_cast<double>(samples),
                               PipePlan{.layers = cut->layers,
                                        .replicas = cut->replicas,
                                        .teams = teams,
                                        .microbatches = microbatches});
    }
}

// With different numbers of replicas, small models are cut inside blocks, too.
std::size_t PipePlans::count_unequal_cuts() const {
    return count_layers() * count_teams() <= max_fine_search ? count_layers() : rules_.layers.cuts.size();
}

std::vector<std::size_t> PipePlans::list_all_cuts() const {
    std::vector<std::size_t> cuts(count_layers());
    std::iota(cuts.begin(), cuts.end(), 0);
    return cuts;
}

// Returns numbers of micro-batches for a short search. Those of the best pipelines come first.
std::vector<std::size_t> PipePlans::list_unequal_counts() const {
    const std::size_t max_counts =
        std::max<std::size_t>(2, max_search_work / (count_unequal_cuts() * count_teams()));
    std::vector<std::size_t> counts;
    const auto add = [&](std::size_t count) {
        if (counts.size() < max_counts && std::ranges::find(counts, count) == counts.end())
            counts.push_back(count);
    };
    for (const PipePlan& plan : equal_) add(plan.microbatches);
    for (const std::size_t count : counts_) add(count);
    return counts;
}

void PipePlans::add_unequal(std::size_t microbatches, TimedPlans& plans) {
    CutProblem problem = make_problem(microbatches, step_.lengths.size());
    problem.bounds.max_stages = rules_.max_stages;
    problem.bounds.replica_step = (count_teams() + max_replica_numbers - 1) / max_replica_numbers;
    if (count_unequal_cuts() > problem.cuts.size()) problem.cuts = list_all_cuts();
    const bool are_equally_fast = std::ranges::count(slowness_, slowness_.front()) == std::ssize(slowness_);
    for (const StageCut& cut : find_best_cuts(problem)) {
        if (are_equal(cut.replicas)) continue;
        PipePlan plan{.layers = cut.layers,
                      .replicas = cut.replicas,
                      .teams = order_by_stage(cut),
                      .microbatches = microbatches};
        plans.emplace_back(cut.seconds, plan);
        if (!are_equally_fast) continue;
        plan.teams = order_by_pipeline(cut);
        plans.emplace_back(cut.seconds, std::move(plan));
    }
}

layout::Layout PipePlans::make_layout(const PipePlan& plan) const {
    layout::Layout layout =
        make_cut_layout(rules_.layers, {.layers = plan.layers, .replicas = plan.replicas}, plan.teams);
    std::vector<bool> is_used(rules_.nodes.size());
    for (const std::size_t team : plan.teams)
        for (const int rank : rules_.layers.teams[team]) is_used[static_cast<std::size_t>(rank)] = true;
    for (std::size_t rank = 0; rank < is_used.size(); ++rank)
        if (!is_used[rank]) layout.idle.push_back(static_cast<int>(rank));
    return layout;
}

}  // namespace trireme::policy
