#include "policy/gathering.hpp"

#include <algorithm>
#include <iterator>

namespace trireme::policy {
namespace {

struct ReplicaIndex {
    std::size_t stage = 0;
    std::size_t replica = 0;
};

class Gathering {
public:
    Gathering(const Places& places, const std::vector<double>& slowness, const std::vector<int>& nodes)
        : places_(places), slowness_(slowness), nodes_(nodes) {
        for (const auto& replicas : places_) {
            for (const std::vector<int>& ranks : replicas) take_note(ranks);
        }
        std::ranges::stable_sort(slow_, std::ranges::greater{}, [&](int rank) { return slowness_of(rank); });
    }

    std::size_t slow_ranks() const { return slow_.size(); }
    std::size_t slow_ranks_at(ReplicaIndex place) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(ranks_at(place), [&](int r) { return is_slow(r); }));
    }

    // Exchanges ranks so that the slow ones fill these places in order.
    Places filled(const std::vector<ReplicaIndex>& order) {
        for (const ReplicaIndex& place : order) {
            if (!slow_.empty()) fill(place);
        }
        return std::move(places_);
    }

private:
    double slowness_of(int rank) const { return slowness_[static_cast<std::size_t>(rank)]; }
    bool is_slow(int rank) const { return slowness_of(rank) > 1; }
    const std::vector<int>& ranks_at(ReplicaIndex place) const { return places_[place.stage][place.replica]; }
    void take_note(const std::vector<int>& ranks) {
        std::ranges::copy_if(ranks, std::back_inserter(slow_), [&](int rank) { return is_slow(rank); });
    }

    // Slow ranks that are here already stay.
    void fill(ReplicaIndex place) {
        std::vector<int> healthy;
        for (const int rank : ranks_at(place)) {
            if (is_slow(rank)) {
                std::erase(slow_, rank);
            } else {
                healthy.push_back(rank);
            }
        }
        for (const int rank : healthy) {
            const auto other = std::ranges::find_if(slow_, [&](int slow) {
                return nodes_[static_cast<std::size_t>(slow)] == nodes_[static_cast<std::size_t>(rank)];
            });
            if (other == slow_.end()) continue;
            exchange(rank, *other);
            slow_.erase(other);
        }
    }

    void exchange(int one, int other) {
        for (auto& replicas : places_) {
            for (std::vector<int>& ranks : replicas) {
                for (int& rank : ranks) rank = rank == one ? other : rank == other ? one : rank;
            }
        }
    }

    Places places_;
    const std::vector<double>& slowness_;
    const std::vector<int>& nodes_;
    std::vector<int> slow_ = {};  // slow ranks not placed yet, the slowest first
};

bool are_of_one_size(const Places& places) {
    const std::size_t size = places.front().front().size();
    const std::size_t replicas = places.front().size();
    return std::ranges::all_of(places, [&](const auto& stage) {
        return stage.size() == replicas &&
               std::ranges::all_of(stage, [&](const auto& ranks) { return ranks.size() == size; });
    });
}

// Returns all places group by group; groups with the most slow ranks come first.
std::vector<ReplicaIndex> ordered(const Gathering& gathering, std::vector<std::vector<ReplicaIndex>> groups) {
    const auto slow_ranks_of = [&](const std::vector<ReplicaIndex>& group) {
        std::size_t sum = 0;
        for (const ReplicaIndex& place : group) sum += gathering.slow_ranks_at(place);
        return sum;
    };
    std::ranges::stable_sort(groups, std::ranges::greater{}, slow_ranks_of);
    std::vector<ReplicaIndex> order;
    for (const auto& group : groups) order.insert(order.end(), group.begin(), group.end());
    return order;
}

}  // namespace

std::vector<Places> gathered(const Places& places, const std::vector<double>& slowness,
                             const std::vector<int>& nodes) {
    if (nodes.empty() || !has_one_stage_each(places) || !are_of_one_size(places)) return {};
    std::vector<std::vector<ReplicaIndex>> stages(places.size());
    std::vector<std::vector<ReplicaIndex>> rows(places.front().size());
    for (std::size_t s = 0; s < places.size(); ++s) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
            stages[s].push_back({s, r});
            rows[r].push_back({s, r});
        }
    }
    std::vector<Places> all;
    for (const auto& groups : {stages, rows}) {
        Gathering gathering(places, slowness, nodes);
        if (gathering.slow_ranks() < 2) continue;
        const std::vector<ReplicaIndex> order = ordered(gathering, groups);
        Places other = gathering.filled(order);
        if (other != places) all.push_back(std::move(other));
    }
    return all;
}

}  // namespace trireme::policy
