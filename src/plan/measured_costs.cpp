#include "trireme/plan/measured_costs.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace trireme::plan {
namespace {

std::span<const LayerProfile> layers_of(const Profile& profile, const layout::StageLayout& stage) {
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

// Returns the fraction of its replica that rank r holds.
double share_of(const layout::ReplicaLayout& replica, std::size_t r) {
    const auto sum = std::accumulate(replica.shares.begin(), replica.shares.end(), std::size_t{0});
    return static_cast<double>(replica.shares[r]) / static_cast<double>(sum);
}

double largest_share(const layout::StageLayout& stage) {
    double largest = 0;
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        for (std::size_t r = 0; r < replica.ranks.size(); ++r)
            largest = std::max(largest, share_of(replica, r));
    }
    return largest;
}

bool has_halves(const Plan& plan, int stage) {
    return std::ranges::any_of(plan.training.programs, [&](const schedule::Program& program) {
        return std::ranges::any_of(program, [&](const schedule::Instruction& each) {
            return each.op == schedule::Op::backward_input && each.stage == stage;
        });
    });
}

// Returns the longest time of a message between any two replicas of two stages.
double slowest_message(const RankProfiles& profiles, const layout::StageLayout& from,
                       const layout::StageLayout& to, std::size_t rows) {
    const auto bytes = static_cast<double>(rows);
    double slowest = 0;
    for (const layout::ReplicaLayout& sender : from.replicas) {
        for (const layout::ReplicaLayout& receiver : to.replicas) {
            const layout::Link link = profiles.link(sender.ranks.front(), receiver.ranks.front(), bytes);
            slowest = std::max(slowest, link.seconds(bytes));
        }
    }
    return slowest;
}

double send_seconds(const RankProfiles& profiles, const layout::Layout& layout, std::size_t s) {
    const layout::StageLayout& stage = layout.stages[s];
    const auto rows_of = [&](const layout::StageLayout& each) {
        return layers_of(profiles.kinds.front(), each).back().rows;  // equal on all devices
    };
    double slowest = 0;
    if (s > 0) {
        const layout::StageLayout& before = layout.stages[s - 1];
        slowest = slowest_message(profiles, stage, before, rows_of(before));
    }
    if (s + 1 < layout.stages.size()) {
        slowest = std::max(slowest, slowest_message(profiles, stage, layout.stages[s + 1], rows_of(stage)));
    }
    return slowest;
}

double reduce_seconds(const RankProfiles& profiles, const layout::StageLayout& stage) {
    const double bytes = largest_share(stage) * bytes_of_parameters(layers_of(profiles.kinds.front(), stage));
    double slowest = 0;
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        const layout::Link link =
            profiles.link(stage.replicas.front().ranks.front(), replica.ranks.front(), bytes);
        slowest = std::max(slowest, sum_seconds(link, static_cast<int>(stage.replicas.size()), bytes));
    }
    return slowest;
}

// Scales the halves to the time of a whole backward pass, which is shorter if the halves repeat some work.
void fit_halves(double whole, schedule::StageCost& cost) {
    const double halves = cost.backward_input + cost.backward_weight;
    cost.backward_weight *= halves > 0 ? whole / halves : 0;
    cost.backward_input = whole - cost.backward_weight;
}

// Returns the costs of a rank with a share of the stage: its passes, and an update of everything that it holds.
schedule::StageCost cost_of_rank(std::span<const LayerProfile> layers, double share, bool in_halves) {
    const auto sum = [&](double LayerProfile::*field) { return share * sum_of(layers, field); };
    schedule::StageCost cost{.forward = sum(&LayerProfile::forward),
                             .backward_input = sum(&LayerProfile::backward_input),
                             .backward_weight = sum(&LayerProfile::backward_weight),
                             .step = sum(&LayerProfile::update)};
    if (!in_halves) fit_halves(sum(&LayerProfile::backward), cost);
    return cost;
}

double seconds_of_passes(const schedule::StageCost& cost) {
    return cost.forward + cost.backward_input + cost.backward_weight;
}

// Returns the passes of the rank whose passes take longest, and the longest update of any rank.
schedule::StageCost slowest_of_ranks(const RankProfiles& profiles, const layout::StageLayout& stage,
                                     bool in_halves) {
    schedule::StageCost slowest{.forward = 0, .backward_input = 0, .backward_weight = 0};
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
            const Profile& profile = profiles.of(replica.ranks[r]);
            schedule::StageCost cost = cost_of_rank(layers_of(profile, stage), share_of(replica, r), in_halves);
            const double step = std::max(slowest.step, cost.step);
            if (seconds_of_passes(cost) > seconds_of_passes(slowest)) slowest = cost;
            slowest.step = step;
        }
    }
    return slowest;
}

schedule::StageCost cost_of(const RankProfiles& profiles, const Plan& plan, std::size_t s, bool in_halves) {
    const layout::StageLayout& stage = plan.layout.stages[s];
    const std::size_t updaters = plan.shards_optimizer ? stage.replicas.size() : 1;
    schedule::StageCost cost = slowest_of_ranks(profiles, stage, in_halves);
    cost.send = send_seconds(profiles, plan.layout, s);
    cost.reduce = reduce_seconds(profiles, stage);
    cost.step /= static_cast<double>(updaters);
    if (plan.recompute[s] == Recompute::full) cost.backward_input += cost.forward;
    return cost;
}

}  // namespace

std::vector<schedule::StageCost> measured_costs(const RankProfiles& profiles, const Plan& plan) {
    std::vector<bool> in_halves;
    for (int s = 0; s < static_cast<int>(plan.layout.stages.size()); ++s)
        in_halves.push_back(has_halves(plan, s));
    return measured_costs(profiles, plan, in_halves);
}

std::vector<schedule::StageCost> measured_costs(const RankProfiles& profiles, const Plan& plan,
                                                const std::vector<bool>& in_halves) {
    std::vector<schedule::StageCost> costs;
    for (std::size_t s = 0; s < plan.layout.stages.size(); ++s) {
        costs.push_back(cost_of(profiles, plan, s, in_halves[s]));
    }
    return costs;
}

std::vector<layout::LayerLoad> layer_loads(const Profile& profile, const ParameterCare& care) {
    std::vector<layout::LayerLoad> loads;
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

}  // namespace trireme::plan
