// The clock of the schedule, which judges plans in tests of the proposer "auto-pipe".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/policy/depth_plan.hpp"

namespace trireme::policy {

// Consecutive layers: the seconds of their passes of a micro-batch on a rank that is not slow, and the bytes of
// their gradients.
struct LayerSums {
    double forward = 0;
    double backward = 0;
    double bytes = 0;
    double trained = 0;  // number of trained layers

    LayerSums operator-(const LayerSums& other) const {
        return {forward - other.forward, backward - other.backward, bytes - other.bytes,
                trained - other.trained};
    }
};

// The layers of a problem for a number of micro-batches. A frozen layer only runs forward. A trained layer
// needs two thirds of its seconds for the backward.
class LayerTable {
public:
    LayerTable(const DepthProblem& problem, int microbatches) : problem_(problem), sums_(1) {
        const LengthCosts costs = problem.rules.layers.costs(problem.step, microbatches);
        send_seconds = costs.send_seconds / 2;
        for (std::size_t layer = 0; layer < problem.work.size(); ++layer) {
            LayerSums sums = sums_.back();
            const bool is_trained = layer >= problem.first_trained_layer();
            sums.forward += costs.layer_seconds[layer] / (is_trained ? 3 : 1);
            sums.backward += costs.layer_seconds[layer] * 2 / 3 * (is_trained ? 1 : 0);
            sums.bytes += problem.rules.gradient_bytes[layer];
            sums.trained += is_trained ? 1 : 0;
            sums_.push_back(sums);
        }
    }

    LayerSums sum(std::size_t begin, std::size_t end) const { return sums_[end] - sums_[begin]; }
    std::size_t layers() const { return sums_.size() - 1; }
    const DepthProblem& problem() const { return problem_; }

    double send_seconds = 0;  // of a message in one direction

private:
    const DepthProblem& problem_;
    std::vector<LayerSums> sums_;
};

// Returns, per stage, the seconds per byte of a reduce-scatter or an all-gather among its replicas. Each
// replica exchanges an equal portion of the bytes with each other one. Ranks of a node that exchange bytes with
// another node at the same time share its link. If the plan has no layers yet, only replicas of one stage share
// it.
inline std::vector<double> list_exchange_seconds(const DepthProblem& problem, const DepthPlan& plan) {
    const auto count = [&](const std::vector<int>& ranks, int node) {
        return static_cast<double>(std::ranges::count_if(
            ranks, [&](int rank) { return problem.rules.nodes[static_cast<std::size_t>(rank)] == node; }));
    };
    std::map<int, double> node_sizes;
    for (const int node : problem.rules.nodes) ++node_sizes[node];
    std::map<int, double> leaving;
    for (std::size_t stage = 0; stage < plan.ends.size(); ++stage) {
        if (plan.ends[stage] <= problem.first_trained_layer()) continue;
        for (const auto& [node, size] : node_sizes) {
            const double inside = count(plan.ranks[stage], node);
            if (inside < static_cast<double>(plan.ranks[stage].size())) leaving[node] += inside;
        }
    }
    std::vector<double> seconds;
    for (const std::vector<int>& replicas : plan.ranks) {
        const auto all = static_cast<double>(replicas.size());
        double& slowest = seconds.emplace_back();
        for (const auto& [node, size] : node_sizes) {
            const double inside = count(replicas, node);
            if (inside == 0) continue;
            const double far = problem.rules.far_byte_seconds * std::max(inside, leaving[node]) / size;
            slowest = std::max(
                {slowest, (inside - 1) / all * problem.rules.near_byte_seconds, (all - inside) / all * far});
        }
    }
    return seconds;
}

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
