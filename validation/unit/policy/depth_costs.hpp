// The seconds of layers and of reductions in tests of the proposer "auto-pipe".
#pragma once

#include <map>

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

}  // namespace trireme::policy
