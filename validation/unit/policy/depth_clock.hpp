// The clock of the schedule, which judges plans in tests of the proposer "auto-pipe".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/policy/depth_costs.hpp"

namespace trireme::policy {

inline layout::Layout make_depth_layout(const DepthPlan& plan) {
    layout::Layout layout{.layers = plan.ends.back()};
    for (std::size_t stage = 0; stage < plan.ends.size(); ++stage) {
        layout.stages.push_back({.layers = {plan.begin(stage), plan.ends[stage] - plan.begin(stage)}});
        for (const int rank : plan.ranks[stage])
            layout.stages.back().replicas.push_back({.ranks = {rank}, .shares = {1}});
    }
    return layout;
}

// Predicts the time of a step with the programs of 1F1B. As in the predictions of runs, the gradients of a
// layer are reduced while the earlier layers of the stage run backward, and replicas gather parameters at the
// end.
class DepthClock {
public:
    double predict_seconds(const LayerTable& table, const DepthPlan& plan) {
        const DepthProblem& problem = table.problem();
        const std::vector<double> exchange = list_exchange_seconds(problem, plan);
        Order& order = find_order(problem.frozen, plan);
        std::vector<std::vector<schedule::StageCost>> costs(plan.ends.size());
        for (std::size_t stage = 0; stage < costs.size(); ++stage) {
            const LayerSums sums = table.sum(plan.begin(stage), plan.ends[stage]);
            schedule::StageCost cost{.backward_weight = 0, .send = table.send_seconds};
            if (sums.trained > 0) {
                const std::size_t first = std::max(plan.begin(stage), problem.first_trained_layer());
                const double late = exchange[stage] * problem.rules.gradient_bytes[first];
                cost.step = exchange[stage] * sums.bytes;
                cost.reduce = late + std::max(0.0, cost.step - late - sums.backward * (1 - 1 / sums.trained));
            }
            for (const std::size_t replica : order.replicas[stage]) {
                const double slowness = problem.find_slowness(plan.ranks[stage][replica]);
                cost.forward = slowness * sums.forward;
                cost.backward_input = slowness * sums.backward;
                costs[stage].push_back(cost);
            }
        }
        return order.clock->predict_seconds(schedule::StepCosts(std::move(costs)));
    }

private:
    // The programs of plans with equal numbers of micro-batches, replicas and frozen stages.
    struct Order {
        std::vector<std::vector<std::size_t>> replicas = {};  // by stage and micro-batch: the executing replica
        std::unique_ptr<schedule::StepClock> clock = {};
    };

    Order& find_order(int frozen, const DepthPlan& plan) {
        const auto frozen_stages = std::ranges::count_if(
            plan.ends, [&](std::size_t end) { return end <= plan::find_first_trained_layer(frozen); });
        std::vector<std::size_t> key{static_cast<std::size_t>(plan.microbatches),
                                     static_cast<std::size_t>(frozen_stages)};
        for (const std::vector<int>& ranks : plan.ranks) key.push_back(ranks.size());
        Order& order = orders_[key];
        if (!order.clock) order = make_order(frozen, plan);
        return order;
    }

    static Order make_order(int frozen, const DepthPlan& plan) {
        const plan::PlanWish wish{.layout = make_depth_layout(plan),
                                  .microbatches = plan.microbatches,
                                  .is_per_replica = false,
                                  .frozen = frozen};
        const std::vector<layout::Team> teams = make_teams(wish.layout);
        const schedule::PipelineShape shape = make_shape(wish, teams);
        const schedule::Phases phases = generate_phases(schedule::require_schedule("1f1b"), shape);
        Order order{.clock = std::make_unique<schedule::StepClock>(remove_frozen_work(phases, shape), shape)};
        for (std::size_t stage = 0; stage < plan.ends.size(); ++stage) {
            order.replicas.emplace_back();
            for (const int team : shape.executor[stage]) {
                const int rank = teams[static_cast<std::size_t>(team)].ranks.front();
                const auto replica = std::ranges::find(plan.ranks[stage], rank) - plan.ranks[stage].begin();
                order.replicas.back().push_back(static_cast<std::size_t>(replica));
            }
        }
        return order;
    }

    std::map<std::vector<std::size_t>, Order> orders_;
};

using IsPossible = std::function<bool(const Candidate&)>;

// Returns the candidates for a problem whose plans the clock judges, among the possible plans.
inline std::vector<Candidate> propose_depth(const DepthProblem& problem, DepthClock& clock,
                                            const IsPossible& is_possible = {}) {
    const Candidate current{.layout = {}, .microbatches = problem.max_microbatches(), .schedule = "1f1b"};
    DepthRules rules = problem.rules;
    rules.predict = [&](const Candidate& candidate, const plan::StepAhead&) -> std::optional<double> {
        if (is_possible && !is_possible(candidate)) return std::nullopt;
        const DepthPlan plan = make_depth_plan(candidate);
        if (!fits_memory(problem.rules, plan)) return std::nullopt;
        return clock.predict_seconds(LayerTable(problem, candidate.microbatches), plan);
    };
    return make_depth_proposer(std::move(rules))(problem.observed, current);
}

inline std::vector<Candidate> propose_depth(const DepthProblem& problem, const IsPossible& is_possible = {}) {
    DepthClock clock;
    return propose_depth(problem, clock, is_possible);
}

}  // namespace trireme::policy
