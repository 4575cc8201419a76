#include "trireme/plan/measured_costs.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace trireme {
namespace {

std::span<const LayerProfile> layers_of(const Profile& profile, const StageLayout& stage) {
    return std::span(profile.layers).subspan(stage.layers.begin, stage.layers.count);
}

double sum_of(std::span<const LayerProfile> layers, double LayerProfile::*field) {
    return std::accumulate(layers.begin(), layers.end(), 0.0,
                           [&](double sum, const LayerProfile& layer) { return sum + layer.*field; });
}

double bytes_of_parameters(std::span<const LayerProfile> layers) {
    return std::accumulate(layers.begin(), layers.end(), 0.0, [](double sum, const LayerProfile& layer) {
        return sum + static_cast<double>(layer.parameters);
    });
}

// Of the rank that has the most of its replica, and so the most to do.
double largest_share(const StageLayout& stage) {
    double largest = 0;
    for (const ReplicaLayout& replica : stage.replicas) {
        const auto sum = std::accumulate(replica.shares.begin(), replica.shares.end(), std::size_t{0});
        const std::size_t most = *std::max_element(replica.shares.begin(), replica.shares.end());
        largest = std::max(largest, static_cast<double>(most) / static_cast<double>(sum));
    }
    return largest;
}

bool has_halves(const Plan& plan, int stage) {
    return std::ranges::any_of(plan.training.programs, [&](const Program& program) {
        return std::ranges::any_of(program, [&](const Instruction& each) {
            return each.op == Op::backward_input && each.stage == stage;
        });
    });
}

// Of a message between any two replicas of two stages.
double slowest_message(const Profile& profile, const StageLayout& from, const StageLayout& to,
                       std::size_t bytes) {
    double slowest = 0;
    for (const ReplicaLayout& sender : from.replicas) {
        for (const ReplicaLayout& receiver : to.replicas) {
            const Link link = link_between(profile.links, sender.ranks.front(), receiver.ranks.front());
            slowest = std::max(slowest, link.seconds(static_cast<double>(bytes)));
        }
    }
    return slowest;
}

double send_seconds(const Profile& profile, const Layout& layout, std::size_t s) {
    const StageLayout& stage = layout.stages[s];
    const auto rows_of = [&](const StageLayout& each) { return layers_of(profile, each).back().rows; };
    double slowest = 0;
    if (s > 0) {
        const StageLayout& before = layout.stages[s - 1];
        slowest = slowest_message(profile, stage, before, rows_of(before));
    }
    if (s + 1 < layout.stages.size()) {
        slowest = std::max(slowest, slowest_message(profile, stage, layout.stages[s + 1], rows_of(stage)));
    }
    return slowest;
}

double reduce_seconds(const Profile& profile, const StageLayout& stage, double bytes) {
    double slowest = 0;
    for (const ReplicaLayout& replica : stage.replicas) {
        const Link link =
            link_between(profile.links, stage.replicas.front().ranks.front(), replica.ranks.front());
        slowest = std::max(slowest, sum_seconds(link, static_cast<int>(stage.replicas.size()), bytes));
    }
    return slowest;
}

// A whole backward pass is shorter than its halves where these do something twice.
void fit_halves(double whole, StageCost& cost) {
    const double halves = cost.backward_input + cost.backward_weight;
    cost.backward_weight *= halves > 0 ? whole / halves : 0;
    cost.backward_input = whole - cost.backward_weight;
}

StageCost cost_of(const Profile& profile, const Plan& plan, std::size_t s, bool in_halves) {
    const StageLayout& stage = plan.layout.stages[s];
    const std::span<const LayerProfile> layers = layers_of(profile, stage);
    const double share = largest_share(stage);
    const auto sum = [&](double LayerProfile::*field) { return share * sum_of(layers, field); };
    const std::size_t updaters = plan.shards_optimizer ? stage.replicas.size() : 1;
    StageCost cost{.forward = sum(&LayerProfile::forward),
                   .backward_input = sum(&LayerProfile::backward_input),
                   .backward_weight = sum(&LayerProfile::backward_weight),
                   .send = send_seconds(profile, plan.layout, s),
                   .reduce = reduce_seconds(profile, stage, share * bytes_of_parameters(layers)),
                   .step = sum(&LayerProfile::update) / static_cast<double>(updaters)};
    if (!in_halves) fit_halves(sum(&LayerProfile::backward), cost);
    if (plan.recompute[s] == Recompute::full) cost.backward_input += cost.forward;
    return cost;
}

}  // namespace

std::vector<StageCost> measured_costs(const Profile& profile, const Plan& plan) {
    std::vector<bool> in_halves;
    for (int s = 0; s < static_cast<int>(plan.layout.stages.size()); ++s)
        in_halves.push_back(has_halves(plan, s));
    return measured_costs(profile, plan, in_halves);
}

std::vector<StageCost> measured_costs(const Profile& profile, const Plan& plan,
                                      const std::vector<bool>& in_halves) {
    std::vector<StageCost> costs;
    for (std::size_t s = 0; s < plan.layout.stages.size(); ++s) {
        costs.push_back(cost_of(profile, plan, s, in_halves[s]));
    }
    return costs;
}

std::vector<LayerLoad> layer_loads(const Profile& profile, const ParameterCare& care) {
    std::vector<LayerLoad> loads;
    for (const LayerProfile& layer : profile.layers) {
        const auto sharers = static_cast<double>(care.sharers);
        const std::size_t parameters = layer.parameters / care.sharers;
        loads.push_back({.seconds = (layer.forward + layer.backward) / sharers,
                         .forward_seconds = layer.forward / sharers,
                         .update_seconds = layer.update / sharers / static_cast<double>(care.updaters),
                         .row_bytes = layer.rows,
                         .parameter_bytes = parameters,
                         .kept_bytes = layer.activation,
                         .held_bytes = 2 * parameters + care.numbers * parameters / care.updaters,
                         .workspace_bytes = layer.workspace});
    }
    return loads;
}

}  // namespace trireme
