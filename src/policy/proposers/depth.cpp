#include "trireme/policy/depth.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "policy/proposers/cut_layout.hpp"
#include "policy/proposers/cut_stages.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::policy {
namespace {

constexpr std::size_t max_equal_proposals = 5;    // with equal numbers of replicas of all stages
constexpr std::size_t max_unequal_proposals = 3;  // with different numbers
constexpr double backward_fraction = 2.0 / 3;     // of the passes of a micro-batch
constexpr std::size_t max_microbatch_factor =
    6;                                         // micro-batches per stage of a pipeline, as in PipeTransformer
constexpr std::size_t max_unequal_counts = 2;  // numbers of micro-batches that these plans have

// A plan with the seconds of its step by the formula of find_best_cuts().
struct EstimatedPlan {
    layout::Layout layout;
    int microbatches = 0;
    double seconds = 0;
};

using Pipeline = std::vector<std::size_t>;  // indices of teams, one per stage

const plan::StepAhead& find_typical_step(const std::vector<plan::StepAhead>& steps) {
    std::vector<std::pair<std::uint64_t, std::size_t>> tokens;
    for (const plan::StepAhead& step : steps)
        tokens.emplace_back(std::accumulate(step.lengths.begin(), step.lengths.end(), std::uint64_t{0}),
                            tokens.size());
    const auto median = tokens.begin() + static_cast<std::ptrdiff_t>(tokens.size() / 2);
    std::ranges::nth_element(tokens, median);
    return steps[median->second];
}

// Searches for plans with short steps, for one decision.
class PlanSearch {
public:
    PlanSearch(const DepthRules& rules, const plan::StepAhead& step, std::vector<double> slowness)
        : rules_(rules), step_(step), slowness_(std::move(slowness)) {}

    // Returns the plans with equal numbers of replicas, that with the shortest step first.
    const std::vector<EstimatedPlan>& list_equal_plans() {
        const std::size_t layers = rules_.layers.reduce_seconds.size();
        for (std::size_t stages = 1; stages <= std::min(rules_.max_stages, layers); ++stages)
            add_pipelines(stages);
        std::ranges::stable_sort(equal_plans_, {}, &EstimatedPlan::seconds);
        return equal_plans_;
    }

    // Returns other plans, that with the shortest step first. Called after list_equal_plans().
    std::vector<EstimatedPlan> list_unequal_plans() {
        std::vector<EstimatedPlan> plans;
        if (rules_.fixed_pipelines > 0) return plans;
        for (const std::size_t microbatches : list_best_counts()) {
            CutProblem problem = make_problem(microbatches);
            problem.slowness = slowness_;
            problem.cuts = rules_.layers.cuts;
            problem.bounds.max_stages = rules_.max_stages;
            for (const StageCut& cut : find_best_cuts(problem)) {
                if (std::ranges::adjacent_find(cut.replicas, std::not_equal_to<>()) == cut.replicas.end())
                    continue;
                for (const auto& order : {policy::order_by_stage(cut), order_by_pipeline(cut)})
                    plans.push_back(
                        make_plan(make_cut_layout(rules_.layers, cut, order), microbatches, cut.seconds));
            }
        }
        std::ranges::stable_sort(plans, {}, &EstimatedPlan::seconds);
        return plans;
    }

private:
    // Returns the numbers of micro-batches of the best plans.
    std::vector<std::size_t> list_best_counts() const {
        std::vector<std::size_t> counts;
        for (const EstimatedPlan& plan : equal_plans_) {
            const auto count = static_cast<std::size_t>(plan.microbatches);
            if (std::ranges::find(counts, count) == counts.end()) counts.push_back(count);
            if (counts.size() == max_unequal_counts) break;
        }
        return counts;
    }

    // Returns the numbers of micro-batches of a step, over all pipelines.
    std::vector<std::size_t> list_microbatches(std::size_t stages, std::size_t pipelines) const {
        std::vector<std::size_t> counts;
        for (std::size_t factor = 1; factor <= max_microbatch_factor; ++factor)
            if (pipelines * stages * factor <= rules_.max_microbatches)
                counts.push_back(pipelines * stages * factor);
        if (counts.empty() && pipelines <= rules_.max_microbatches)
            counts.push_back(rules_.max_microbatches / pipelines * pipelines);
        return counts;
    }

    void add_pipelines(std::size_t stages) {
        const std::vector<Pipeline> pipelines = place_pipelines(stages);
        if (pipelines.empty()) return;
        add_grids(order_by_stage(pipelines), stages);
        if (rules_.fixed_pipelines > 0 || stages == 1 || pipelines.size() == 1) return;
        std::vector<std::size_t> consecutive(stages * pipelines.size());
        std::iota(consecutive.begin(), consecutive.end(), 0);
        add_grids(consecutive, stages);
    }

    // Adds the best cut for each number of micro-batches. Replica r of stage s is on the team with the number
    // `teams`[s * replicas + r].
    void add_grids(const std::vector<std::size_t>& teams, std::size_t stages) {
        const std::size_t replicas = teams.size() / stages;
        LengthRules rules = rules_.layers;
        rules.teams.clear();
        std::vector<double> slowness;
        for (const std::size_t team : teams) {
            rules.teams.push_back(rules_.layers.teams[team]);
            slowness.push_back(slowness_[team]);
        }
        rules.cuts.resize(rules.reduce_seconds.size());
        std::iota(rules.cuts.begin(), rules.cuts.end(), 0);
        const std::vector<double> reduce_seconds = predict_reductions(rules.teams, replicas);
        for (const std::size_t microbatches : list_microbatches(stages, replicas)) {
            CutProblem problem = make_problem(microbatches);
            problem.slowness = slowness;
            problem.cuts = rules.cuts;
            problem.bounds = {.min_replicas = replicas, .max_replicas = replicas};
            problem.reduce_seconds = reduce_seconds;
            if (const std::optional<StageCut> cut = find_best_cut(problem, stages))
                equal_plans_.push_back(make_plan(make_cut_layout(rules, *cut, policy::order_by_stage(*cut)),
                                                 microbatches, cut->seconds));
        }
    }

    // Returns LengthRules::reduce_seconds for pipelines with the links of their layout. The replicas of stage s
    // are on the teams from s * `replicas` on.
    std::vector<double> predict_reductions(const std::vector<std::vector<int>>& teams,
                                           std::size_t replicas) const {
        const auto all = static_cast<double>(replicas);
        double byte_seconds = 0;  // of a reduce-scatter in the slowest stage
        for (std::size_t begin = 0; begin < teams.size(); begin += replicas) {
            std::map<int, double> count_by_node;
            for (std::size_t team = begin; team < begin + replicas; ++team)
                count_by_node[rules_.nodes[static_cast<std::size_t>(teams[team].front())]] += 1;
            for (const auto& [node, count] : count_by_node)
                byte_seconds = std::max({byte_seconds, (count - 1) / all * rules_.near_byte_seconds,
                                         (all - count) / all * rules_.far_byte_seconds});
        }
        std::vector<double> seconds;
        for (const double bytes : rules_.gradient_bytes)
            seconds.push_back(replicas == 1 ? 0 : bytes * byte_seconds * all / (all - 1));
        return seconds;
    }

    EstimatedPlan make_plan(layout::Layout layout, std::size_t microbatches, double seconds) const {
        std::vector<bool> is_used(rules_.nodes.size());
        for (const layout::StageLayout& stage : layout.stages)
            for (const layout::ReplicaLayout& replica : stage.replicas)
                for (const int rank : replica.ranks) is_used[static_cast<std::size_t>(rank)] = true;
        for (std::size_t rank = 0; rank < is_used.size(); ++rank)
            if (!is_used[rank]) layout.idle.push_back(static_cast<int>(rank));
        return {
            .layout = std::move(layout), .microbatches = static_cast<int>(microbatches), .seconds = seconds};
    }

    CutProblem make_problem(std::size_t microbatches) {
        const auto [costs, is_new] = costs_.try_emplace(microbatches);
        if (is_new) costs->second = rules_.layers.costs(step_, static_cast<int>(microbatches));
        return {.layer_seconds = costs->second.layer_seconds,
                .reduce_seconds = rules_.layers.reduce_seconds,
                .microbatches = static_cast<int>(microbatches),
                .send_seconds = costs->second.send_seconds,
                .reduce_overlap = backward_fraction,
                .memory = {.held_bytes = rules_.held_bytes,
                           .divided_bytes = rules_.divided_bytes,
                           .limit = rules_.memory_limit}};
    }

    // Returns the teams of each pipeline.
    std::vector<Pipeline> place_pipelines(std::size_t stages) const {
        const std::size_t teams = rules_.layers.teams.size();
        std::vector<Pipeline> pipelines;
        const auto add_pipeline = [&](std::size_t first) {
            Pipeline& pipeline = pipelines.emplace_back(stages);
            std::iota(pipeline.begin(), pipeline.end(), first);
        };
        if (rules_.fixed_pipelines > 0) {
            const std::size_t distance = teams / rules_.fixed_pipelines;
            for (std::size_t p = 0; p < rules_.fixed_pipelines && stages <= distance; ++p)
                add_pipeline(p * distance);
            return pipelines;
        }
        for (std::size_t begin = 0; begin < teams;) {
            const std::size_t end = find_end_of_node(begin);
            for (; begin + stages <= end; begin += stages) add_pipeline(begin);
            begin = end;
        }
        if (!pipelines.empty()) return pipelines;
        for (std::size_t begin = 0; begin + stages <= teams; begin += stages) add_pipeline(begin);
        return pipelines;
    }

    // Returns the end of the consecutive teams on the node of the team `begin`.
    std::size_t find_end_of_node(std::size_t begin) const {
        const auto node_of = [&](std::size_t team) {
            return rules_.nodes[static_cast<std::size_t>(rules_.layers.teams[team].front())];
        };
        std::size_t end = begin + 1;
        while (end < rules_.layers.teams.size() && node_of(end) == node_of(begin)) ++end;
        return end;
    }

    static std::vector<std::size_t> order_by_stage(const std::vector<Pipeline>& pipelines) {
        std::vector<std::size_t> teams;
        for (std::size_t stage = 0; stage < pipelines.front().size(); ++stage)
            for (const Pipeline& pipeline : pipelines) teams.push_back(pipeline[stage]);
        return teams;
    }

    const DepthRules& rules_;
    const plan::StepAhead& step_;
    std::vector<double> slowness_;                   // per team
    std::map<std::size_t, LengthCosts> costs_ = {};  // by number of micro-batches
    std::vector<EstimatedPlan> equal_plans_ = {};
};

// Appends the first possible plans to `candidates`, up to `max_count` of them.
void add_candidates(const std::vector<EstimatedPlan>& plans, std::size_t max_count, const DepthRules& rules,
                    const Candidate& former, std::vector<Candidate>& candidates) {
    std::size_t count = 0;
    for (const EstimatedPlan& plan : plans) {
        if (count == max_count) return;
        Candidate next{.layout = plan.layout,
                       .microbatches = plan.microbatches,
                       .schedule = former.schedule,
                       .causes = former.causes};
        const auto is_equal = [&](const Candidate& other) { return are_equal_plans(other, next); };
        if (std::ranges::any_of(candidates, is_equal) || !rules.is_possible(next)) continue;
        next.causes.push_back(
            {.proposer = "auto-pipe",
             .reason = cat("steps are shortest with ", format_count(next.layout->stages.size(), "stage"),
                           " and ", format_count(static_cast<std::size_t>(next.microbatches), "micro-batch"))});
        candidates.push_back(std::move(next));
        ++count;
    }
}

std::vector<Candidate> propose(const DepthRules& rules, const plan::Observation& observed,
                               const Candidate& former) {
    if (observed.ahead.empty()) return {};
    PlanSearch search(rules, find_typical_step(observed.ahead), list_team_slowness(rules.layers, observed));
    std::vector<Candidate> candidates;
    add_candidates(search.list_equal_plans(), max_equal_proposals, rules, former, candidates);
    add_candidates(search.list_unequal_plans(), max_unequal_proposals, rules, former, candidates);
    return candidates;
}

}  // namespace

Proposer make_depth_proposer(DepthRules rules) {
    return [rules = std::make_shared<const DepthRules>(std::move(rules))](const plan::Observation& observed,
                                                                          const Candidate& candidate) {
        return propose(*rules, observed, candidate);
    };
}

}  // namespace trireme::policy
