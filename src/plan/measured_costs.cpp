#include "trireme/plan/measured_costs.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace trireme::plan {
namespace {

// Returns the profiles of the layers of a stage.
std::span<const LayerProfile> find_layers(const Profile& profile, const layout::StageLayout& stage) {
    return std::span(profile.layers).subspan(stage.layers.begin, stage.layers.count);
}

double compute_sum(std::span<const LayerProfile> layers, double LayerProfile::*field) {
    return std::accumulate(layers.begin(), layers.end(), 0.0,
                           [&](double sum, const LayerProfile& layer) { return sum + layer.*field; });
}

double count_parameter_bytes(std::span<const LayerProfile> layers) {
    return std::accumulate(layers.begin(), layers.end(), 0.0, [](double sum, const LayerProfile& layer) {
        return sum + static_cast<double>(layer.parameters);
    });
}

// Returns the fraction of the replica's tensors that the rank `replica.ranks[index]` holds.
double compute_share(const layout::ReplicaLayout& replica, std::size_t index) {
    const auto sum = std::accumulate(replica.shares.begin(), replica.shares.end(), std::size_t{0});
    return static_cast<double>(replica.shares[index]) / static_cast<double>(sum);
}

double compute_largest_share(const layout::StageLayout& stage) {
    double largest = 0;
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        for (std::size_t r = 0; r < replica.ranks.size(); ++r)
            largest = std::max(largest, compute_share(replica, r));
    }
    return largest;
}

// Returns the seconds of a message of `row_bytes` bytes over the slowest link between a replica of `from` and a
// replica of `to`. The link between two replicas is the one between their first ranks.
double predict_slowest_message(const RankProfiles& profiles, const layout::StageLayout& from,
                               const layout::StageLayout& to, std::size_t row_bytes) {
    const auto bytes = static_cast<double>(row_bytes);
    double slowest_seconds = 0;
    for (const layout::ReplicaLayout& sender : from.replicas) {
        for (const layout::ReplicaLayout& receiver : to.replicas) {
            const layout::Link link =
                profiles.find_slower_link(sender.ranks.front(), receiver.ranks.front(), bytes);
            slowest_seconds = std::max(slowest_seconds, link.predict_seconds(bytes));
        }
    }
    return slowest_seconds;
}

// Returns the seconds of the slower one of the two messages that stage `stage_index` sends per micro-batch: its
// output rows to the next stage, and their gradients to the previous stage.
double predict_send_seconds(const RankProfiles& profiles, const layout::Layout& layout,
                            std::size_t stage_index) {
    const layout::StageLayout& stage = layout.stages[stage_index];
    const auto find_row_bytes = [&](const layout::StageLayout& each) {
        return find_layers(profiles.kinds.front(), each).back().rows;  // equal on all devices
    };
    double slowest_seconds = 0;
    if (stage_index > 0) {
        const layout::StageLayout& previous_stage = layout.stages[stage_index - 1];
        slowest_seconds =
            predict_slowest_message(profiles, stage, previous_stage, find_row_bytes(previous_stage));
    }
    if (stage_index + 1 < layout.stages.size()) {
        const layout::StageLayout& next_stage = layout.stages[stage_index + 1];
        slowest_seconds = std::max(slowest_seconds,
                                   predict_slowest_message(profiles, stage, next_stage, find_row_bytes(stage)));
    }
    return slowest_seconds;
}

// Returns the seconds of the all-reduce of the largest share of the gradients over the replicas of a stage.
double predict_reduce_seconds(const RankProfiles& profiles, const layout::StageLayout& stage) {
    const double bytes =
        compute_largest_share(stage) * count_parameter_bytes(find_layers(profiles.kinds.front(), stage));
    double slowest_seconds = 0;
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        const layout::Link link =
            profiles.find_slower_link(stage.replicas.front().ranks.front(), replica.ranks.front(), bytes);
        slowest_seconds = std::max(
            slowest_seconds, predict_all_reduce_seconds(link, static_cast<int>(stage.replicas.size()), bytes));
    }
    return slowest_seconds;
}

// Scales the measured costs of the two halves such that their sum is `whole_seconds`, the time of a whole
// backward pass. A whole pass takes less time than both halves if the halves repeat some work.
void scale_halves_to_whole(double whole_seconds, schedule::StageCost& cost) {
    const double halves_seconds = cost.backward_input + cost.backward_weight;
    cost.backward_weight *= halves_seconds > 0 ? whole_seconds / halves_seconds : 0;
    cost.backward_input = whole_seconds - cost.backward_weight;
}

// Returns the costs of a rank that holds the fraction `share` of the stage's tensors: the costs of its passes,
// and of an update of all parameters that it holds.
schedule::StageCost compute_rank_cost(std::span<const LayerProfile> layers, double share,
                                      bool splits_backward) {
    const auto sum = [&](double LayerProfile::*field) { return share * compute_sum(layers, field); };
    schedule::StageCost cost{.forward = sum(&LayerProfile::forward),
                             .backward_input = sum(&LayerProfile::backward_input),
                             .backward_weight = sum(&LayerProfile::backward_weight),
                             .step = sum(&LayerProfile::update)};
    if (!splits_backward) scale_halves_to_whole(sum(&LayerProfile::backward), cost);
    return cost;
}

double compute_pass_seconds(const schedule::StageCost& cost) {
    return cost.forward + cost.backward_input + cost.backward_weight;
}

// Returns the pass costs of the rank with the longest passes, and the update cost of the rank with the longest
// update.
schedule::StageCost find_slowest_rank_cost(const RankProfiles& profiles, const layout::StageLayout& stage,
                                           bool splits_backward) {
    schedule::StageCost slowest{.forward = 0, .backward_input = 0, .backward_weight = 0};
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
            const Profile& profile = profiles.find_profile(replica.ranks[r]);
            schedule::StageCost cost =
                compute_rank_cost(find_layers(profile, stage), compute_share(replica, r), splits_backward);
            const double longest_step = std::max(slowest.step, cost.step);
            if (compute_pass_seconds(cost) > compute_pass_seconds(slowest)) slowest = cost;
            slowest.step = longest_step;
        }
    }
    return slowest;
}

schedule::StageCost compute_stage_cost(const RankProfiles& profiles, const Plan& plan, std::size_t stage_index,
                                       bool splits_backward) {
    const layout::StageLayout& stage = plan.layout.stages[stage_index];
    const std::size_t updating_replicas = plan.shards_optimizer ? stage.replicas.size() : 1;
    schedule::StageCost cost = find_slowest_rank_cost(profiles, stage, splits_backward);
    cost.send = predict_send_seconds(profiles, plan.layout, stage_index);
    cost.reduce = predict_reduce_seconds(profiles, stage);
    cost.step /= static_cast<double>(updating_replicas);
    if (plan.recompute[stage_index] == Recompute::full) cost.backward_input += cost.forward;
    return cost;
}

}  // namespace

std::vector<schedule::StageCost> compute_stage_costs(const RankProfiles& profiles, const Plan& plan) {
    std::vector<bool> splits_backward;
    for (int s = 0; s < static_cast<int>(plan.layout.stages.size()); ++s)
        splits_backward.push_back(has_split_backward(plan, s));
    return compute_stage_costs(profiles, plan, splits_backward);
}

std::vector<schedule::StageCost> compute_stage_costs(const RankProfiles& profiles, const Plan& plan,
                                                     const std::vector<bool>& splits_backward) {
    std::vector<schedule::StageCost> costs;
    for (std::size_t s = 0; s < plan.layout.stages.size(); ++s) {
        costs.push_back(compute_stage_cost(profiles, plan, s, splits_backward[s]));
    }
    return costs;
}

std::vector<layout::LayerLoad> compute_layer_loads(const Profile& profile, const OptimizerSharding& sharding) {
    std::vector<layout::LayerLoad> loads;
    for (const LayerProfile& layer : profile.layers) {
        const auto tensor_ranks = static_cast<double>(sharding.tensor_ranks);
        const std::size_t parameter_bytes = layer.parameters / sharding.tensor_ranks;
        loads.push_back(
            {.seconds = (layer.forward + layer.backward) / tensor_ranks,
             .forward_seconds = layer.forward / tensor_ranks,
             .update_seconds = layer.update / tensor_ranks / static_cast<double>(sharding.updating_replicas),
             .row_bytes = layer.rows,
             .parameter_bytes = parameter_bytes,
             .activation_bytes = layer.activation,
             // Weights, gradients, and optimizer state.
             .state_bytes =
                 2 * parameter_bytes + sharding.state_values * parameter_bytes / sharding.updating_replicas,
             .workspace_bytes = layer.workspace});
    }
    return loads;
}

}  // namespace trireme::plan
