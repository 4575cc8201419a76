#include "policy/gather_slow_ranks.hpp"

#include <algorithm>
#include <iterator>

namespace trireme::policy {
namespace {

struct ReplicaIndex {
    std::size_t stage = 0;
    std::size_t replica = 0;
};

// Gathers the slow ranks of a placement by exchanging ranks. Each object is used for one order of replicas.
class SlowRankGathering {
public:
    SlowRankGathering(const TeamPlacement& placement, const std::vector<double>& slowness,
                      const std::vector<int>& nodes)
        : placement_(placement), slowness_(slowness), nodes_(nodes) {
        for (const auto& replicas : placement_) {
            for (const std::vector<int>& ranks : replicas) add_slow_ranks(ranks);
        }
        std::ranges::stable_sort(slow_ranks_, std::ranges::greater{},
                                 [&](int rank) { return find_slowness(rank); });
    }

    std::size_t slow_rank_count() const { return slow_ranks_.size(); }
    std::size_t count_slow_ranks_in(ReplicaIndex index) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(find_ranks(index), [&](int rank) { return is_slow(rank); }));
    }

    // Exchanges ranks so that slow ranks fill the replicas in this order. Returns the new placement.
    TeamPlacement fill_in_order(const std::vector<ReplicaIndex>& order) {
        for (const ReplicaIndex& index : order) {
            if (!slow_ranks_.empty()) fill_replica(index);
        }
        return std::move(placement_);
    }

private:
    double find_slowness(int rank) const { return slowness_[static_cast<std::size_t>(rank)]; }
    bool is_slow(int rank) const { return find_slowness(rank) > 1; }
    const std::vector<int>& find_ranks(ReplicaIndex index) const {
        return placement_[index.stage][index.replica];
    }
    void add_slow_ranks(const std::vector<int>& ranks) {
        std::ranges::copy_if(ranks, std::back_inserter(slow_ranks_), [&](int rank) { return is_slow(rank); });
    }

    // Exchanges the healthy ranks of a replica for slow ranks that are on the same nodes, in replicas that are
    // not filled yet. Slow ranks of the replica stay.
    void fill_replica(ReplicaIndex index) {
        std::vector<int> healthy_ranks;
        for (const int rank : find_ranks(index)) {
            if (is_slow(rank)) {
                std::erase(slow_ranks_, rank);
            } else {
                healthy_ranks.push_back(rank);
            }
        }
        for (const int rank : healthy_ranks) {
            const auto slow_rank = std::ranges::find_if(slow_ranks_, [&](int candidate) {
                return nodes_[static_cast<std::size_t>(candidate)] == nodes_[static_cast<std::size_t>(rank)];
            });
            if (slow_rank == slow_ranks_.end()) continue;
            exchange(rank, *slow_rank);
            slow_ranks_.erase(slow_rank);
        }
    }

    void exchange(int one, int other) {
        for (auto& replicas : placement_) {
            for (std::vector<int>& ranks : replicas) {
                for (int& rank : ranks) rank = rank == one ? other : rank == other ? one : rank;
            }
        }
    }

    TeamPlacement placement_;
    const std::vector<double>& slowness_;
    const std::vector<int>& nodes_;
    std::vector<int> slow_ranks_ = {};  // slow ranks outside the filled replicas, the slowest first
};

// True if all stages have the same number of replicas, and all replicas the same number of ranks.
bool have_equal_sizes(const TeamPlacement& placement) {
    const std::size_t team_size = placement.front().front().size();
    const std::size_t replica_count = placement.front().size();
    return std::ranges::all_of(placement, [&](const auto& stage) {
        return stage.size() == replica_count &&
               std::ranges::all_of(stage, [&](const auto& ranks) { return ranks.size() == team_size; });
    });
}

// Returns the replicas of all groups, group by group. A group is a stage or a pipeline replica. Groups with the
// most slow ranks come first.
std::vector<ReplicaIndex> order_groups(const SlowRankGathering& gathering,
                                       std::vector<std::vector<ReplicaIndex>> groups) {
    const auto count_slow_ranks = [&](const std::vector<ReplicaIndex>& group) {
        std::size_t count = 0;
        for (const ReplicaIndex& index : group) count += gathering.count_slow_ranks_in(index);
        return count;
    };
    std::ranges::stable_sort(groups, std::ranges::greater{}, count_slow_ranks);
    std::vector<ReplicaIndex> order;
    for (const auto& group : groups) order.insert(order.end(), group.begin(), group.end());
    return order;
}

}  // namespace

std::vector<TeamPlacement> gather_slow_ranks(const TeamPlacement& placement,
                                             const std::vector<double>& slowness,
                                             const std::vector<int>& nodes) {
    if (nodes.empty() || !have_teams_one_stage(placement) || !have_equal_sizes(placement)) return {};
    std::vector<std::vector<ReplicaIndex>> stages(placement.size());
    std::vector<std::vector<ReplicaIndex>> pipeline_replicas(placement.front().size());
    for (std::size_t s = 0; s < placement.size(); ++s) {
        for (std::size_t r = 0; r < pipeline_replicas.size(); ++r) {
            stages[s].push_back({s, r});
            pipeline_replicas[r].push_back({s, r});
        }
    }
    std::vector<TeamPlacement> placements;
    for (const auto& groups : {stages, pipeline_replicas}) {
        SlowRankGathering gathering(placement, slowness, nodes);
        if (gathering.slow_rank_count() < 2) continue;
        const std::vector<ReplicaIndex> order = order_groups(gathering, groups);
        TeamPlacement gathered_placement = gathering.fill_in_order(order);
        if (gathered_placement != placement) placements.push_back(std::move(gathered_placement));
    }
    return placements;
}

}  // namespace trireme::policy
