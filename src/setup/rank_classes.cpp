#include "trireme/setup/rank_classes.hpp"

#include <algorithm>
#include <map>

namespace trireme::setup {
namespace {

// The properties that determine a rank's memory, as numbers.
using Key = std::vector<std::size_t>;

// Per team, its shares in each of its stages, one after another.
using SharesByRank = std::map<int, Key>;  // by the team's first rank

SharesByRank shares_of_teams(const plan::Plan& plan) {
    SharesByRank shares;
    for (const layout::StageLayout& stage : plan.layout.stages) {
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            Key& key = shares[replica.ranks.front()];
            key.insert(key.end(), replica.shares.begin(), replica.shares.end());
        }
    }
    return shares;
}

Key key_of_team(const plan::Plan& plan, std::size_t t, const InFlight& most, const Key& shares) {
    const layout::Team& team = plan.teams[t];
    const schedule::Proof& proof = plan.training.proof;
    Key key{team.ranks.size(),
            team.stages.size(),
            most.flights,
            most.row_buffers,
            most.batches,
            goes_back_in_halves(plan.training, static_cast<int>(t)) ? 1U : 0U,
            static_cast<std::size_t>(*std::ranges::max_element(proof.weight_versions[t])),
            static_cast<std::size_t>(proof.peak_gradients[t]),
            within(plan.migrations, team.ranks).empty() ? 0 : 1 + t};
    for (const int stage : team.stages) key.push_back(static_cast<std::size_t>(stage));
    key.insert(key.end(), shares.begin(), shares.end());
    return key;
}

}  // namespace

std::vector<RankClass> rank_classes(const plan::Plan& plan) {
    const SharesByRank shares = shares_of_teams(plan);
    const std::vector<InFlight> most = in_flight_of_teams(plan);
    std::map<Key, std::vector<RankClass>> classes;  // by the team's key, then by position in the team
    for (std::size_t t = 0; t < plan.teams.size(); ++t) {
        const std::vector<int>& ranks = plan.teams[t].ranks;
        auto& by_place = classes[key_of_team(plan, t, most[t], shares.at(ranks.front()))];
        by_place.resize(ranks.size(), {.ranks = {}, .most = most[t]});
        for (std::size_t place = 0; place < ranks.size(); ++place)
            by_place[place].ranks.push_back(ranks[place]);
    }
    std::vector<RankClass> all;
    for (auto& [key, by_place] : classes) {
        for (RankClass& each : by_place) {
            std::ranges::sort(each.ranks);
            all.push_back(std::move(each));
        }
    }
    std::ranges::sort(all, {}, [](const RankClass& each) { return each.ranks.front(); });
    return all;
}

std::vector<int> teams_of_ranks(const std::vector<layout::Team>& teams, std::size_t ranks) {
    std::vector<int> numbers(ranks, -1);
    for (std::size_t team = 0; team < teams.size(); ++team) {
        for (const int rank : teams[team].ranks)
            numbers.at(static_cast<std::size_t>(rank)) = static_cast<int>(team);
    }
    return numbers;
}

}  // namespace trireme::setup
