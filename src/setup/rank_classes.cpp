#include "trireme/setup/rank_classes.hpp"

#include <algorithm>
#include <map>

#include "trireme/schedule/step_buffers.hpp"

namespace trireme::setup {
namespace {

// The numbers that determine the memory of a team's ranks. Ranks at the same position of teams with equal keys
// form a class.
using ClassKey = std::vector<std::size_t>;

// The shares of each team, by the first rank of the team: all shares of the team's first stage, then those of
// its second stage, and so on.
using SharesByFirstRank = std::map<int, std::vector<std::size_t>>;

SharesByFirstRank list_team_shares(const plan::Plan& plan) {
    SharesByFirstRank shares;
    for (const layout::StageLayout& stage : plan.layout.stages) {
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            std::vector<std::size_t>& team_shares = shares[replica.ranks.front()];
            team_shares.insert(team_shares.end(), replica.shares.begin(), replica.shares.end());
        }
    }
    return shares;
}

// Returns a hash of the kinds of buffers that a team uses during a step or an evaluation, and of the
// instructions at which each buffer is in use.
std::uint64_t compute_buffer_hash(const plan::ProvedPrograms& programs, int team) {
    RandomKey hash;
    for (const schedule::BufferUse& use :
         list_buffer_uses(programs.unroll_program(team), team, programs.shape)) {
        hash = hash.then(static_cast<std::uint64_t>(use.kind))
                   .then(static_cast<std::uint64_t>(use.taker.stage))
                   .then(use.begin)
                   .then(use.end);
    }
    return hash.bits;
}

ClassKey make_class_key(const plan::Plan& plan, std::size_t team_index,
                        const std::vector<std::size_t>& shares) {
    const layout::Team& team = plan.teams[team_index];
    const schedule::Proof& proof = plan.training.proof;
    // A team with migrations gets the unique number 1 + team_index, so that no other team has an equal key.
    ClassKey key{team.ranks.size(),
                 team.stages.size(),
                 compute_buffer_hash(plan.training, static_cast<int>(team_index)),
                 compute_buffer_hash(plan.evaluation, static_cast<int>(team_index)),
                 splits_backward_passes(plan.training, static_cast<int>(team_index)) ? 1U : 0U,
                 static_cast<std::size_t>(*std::ranges::max_element(proof.weight_versions[team_index])),
                 static_cast<std::size_t>(proof.peak_gradients[team_index]),
                 find_team_migrations(plan.migrations, team.ranks).empty() ? 0 : 1 + team_index};
    for (const int stage : team.stages) key.push_back(static_cast<std::size_t>(stage));
    key.insert(key.end(), shares.begin(), shares.end());
    return key;
}

}  // namespace

std::vector<RankClass> find_rank_classes(const plan::Plan& plan) {
    const SharesByFirstRank shares = list_team_shares(plan);
    std::map<ClassKey, std::vector<RankClass>> classes;  // by the team's key, then by position in the team
    for (std::size_t t = 0; t < plan.teams.size(); ++t) {
        const std::vector<int>& ranks = plan.teams[t].ranks;
        auto& class_per_position = classes[make_class_key(plan, t, shares.at(ranks.front()))];
        class_per_position.resize(ranks.size());
        for (std::size_t position = 0; position < ranks.size(); ++position)
            class_per_position[position].ranks.push_back(ranks[position]);
    }
    std::vector<RankClass> all_classes;
    for (auto& [key, class_per_position] : classes) {
        for (RankClass& rank_class : class_per_position) {
            std::ranges::sort(rank_class.ranks);
            all_classes.push_back(std::move(rank_class));
        }
    }
    std::ranges::sort(all_classes, {}, [](const RankClass& each) { return each.ranks.front(); });
    return all_classes;
}

std::vector<int> find_teams_of_ranks(const std::vector<layout::Team>& teams, std::size_t ranks) {
    std::vector<int> team_of_rank(ranks, -1);
    for (std::size_t team = 0; team < teams.size(); ++team) {
        for (const int rank : teams[team].ranks)
            team_of_rank.at(static_cast<std::size_t>(rank)) = static_cast<int>(team);
    }
    return team_of_rank;
}

}  // namespace trireme::setup
