#include "trireme/rank/rank_groups.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/rank/gpu_groups.hpp"

namespace trireme::rank {
namespace {

bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Returns the ranks of all replicas of a stage, sorted.
std::vector<int> list_stage_ranks(const layout::StageLayout& stage) {
    std::vector<int> ranks;
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        ranks.insert(ranks.end(), replica.ranks.begin(), replica.ranks.end());
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::unique_ptr<comm::Communicator> make_update_group(const comm::Session& session, const plan::Plan& plan,
                                                      device::WaitPolicy wait_policy) {
    if (!plan.training.shape.updates_stages_independently)
        return session.make_group_of_all_ranks("update", wait_policy);
    std::unique_ptr<comm::Communicator> stage_group;
    for (const layout::StageLayout& stage : plan.layout.stages) {
        const std::vector<int> ranks = list_stage_ranks(stage);
        if (contains(ranks, session.rank())) stage_group = session.make_group(ranks, "update", wait_policy);
    }
    return stage_group ? std::move(stage_group) : comm::make_single_rank_group("update");
}

// Extends the groups that send tensors, so that these groups also send tensors in GPU memory. All ranks extend
// the groups in the same order.
void extend_to_gpu(RankGroups& groups, const comm::Session& session, const plan::Plan& plan,
                   const GroupResources& resources) {
    const std::vector<comm::RankPair> activation_pairs = find_stage_pairs(plan, groups.pipe);
    extend_to_gpu(groups.activations, groups.pipe, activation_pairs, session, resources);
    extend_to_gpu(groups.gradients, groups.pipe, reverse_pairs(activation_pairs), session, resources);
    for (const layout::Team& team : plan.teams) {
        if (!contains(team.ranks, session.rank())) continue;
        extend_to_gpu(groups.tensor, team.ranks, comm::make_all_pairs(static_cast<int>(team.ranks.size())),
                      session, resources);
    }
    for (auto& [ranks, group] : groups.data)
        extend_to_gpu(group, ranks, comm::make_all_pairs(static_cast<int>(ranks.size())), session, resources);
}

// Disjoint sets of connected teams (union-find). The lowest team of a set represents the set.
class ConnectedTeams {
public:
    explicit ConnectedTeams(std::size_t teams) : parent_(teams) {
        std::iota(parent_.begin(), parent_.end(), 0);
    }

    int find_lowest_team(int team) const {
        while (parent_[static_cast<std::size_t>(team)] != team) team = parent_[static_cast<std::size_t>(team)];
        return team;
    }
    // Merges the sets of two teams.
    void connect(int team, int other_team) {
        const int low = std::min(find_lowest_team(team), find_lowest_team(other_team));
        const int high = std::max(find_lowest_team(team), find_lowest_team(other_team));
        parent_[static_cast<std::size_t>(high)] = low;
    }

private:
    std::vector<int> parent_;  // per team: a lower team of its set, or the team itself if it is the lowest
};

}  // namespace

std::vector<comm::Communicator*> list_groups(const RankGroups& groups) {
    std::vector<comm::Communicator*> list;
    for (const auto* const group :
         {&groups.activations, &groups.gradients, &groups.tensor, &groups.update, &groups.record})
        if (*group) list.push_back(group->get());
    for (const auto& [ranks, group] : groups.data) list.push_back(group.get());
    return list;
}

RankGroups make_groups(const comm::Session& session, const plan::Plan& plan,
                       const std::vector<layout::Bucket>& buckets, const GroupResources& resources) {
    const device::WaitPolicy wait_policy = resources.wait_policy;
    RankGroups groups;
    for (const std::vector<int>& pipe : find_pipes(plan)) {
        if (!contains(pipe, session.rank())) continue;
        groups.pipe = pipe;
        groups.activations = session.make_group(pipe, "activations", wait_policy);
        groups.gradients = session.make_group(pipe, "gradients", wait_policy);
    }
    for (const layout::Team& team : plan.teams) {
        if (team.ranks.size() == 1 || !contains(team.ranks, session.rank())) continue;
        groups.tensor = session.make_group(team.ranks, "tensor", wait_policy);
    }
    groups.update = make_update_group(session, plan, wait_policy);
    groups.record = session.make_group_of_all_ranks("record", wait_policy);
    groups.data = stage::make_data_groups(session, buckets, wait_policy);
    if (resources.queue != nullptr) extend_to_gpu(groups, session, plan, resources);
    return groups;
}

std::vector<std::vector<int>> find_pipes(const plan::Plan& plan) {
    const schedule::PipelineShape& shape = plan.training.shape;
    ConnectedTeams connected_teams(plan.teams.size());
    for (int stage = 0; stage + 1 < shape.stages(); ++stage) {
        for (int m = 0; m < shape.microbatches; ++m) {
            connected_teams.connect(shape.find_executor(stage, m), shape.find_executor(stage + 1, m));
        }
    }
    std::vector<std::vector<int>> pipes(plan.teams.size());
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        auto& ranks = pipes[static_cast<std::size_t>(connected_teams.find_lowest_team(static_cast<int>(team)))];
        ranks.insert(ranks.end(), plan.teams[team].ranks.begin(), plan.teams[team].ranks.end());
    }
    std::erase_if(pipes, [](const std::vector<int>& ranks) { return ranks.empty(); });
    for (std::vector<int>& ranks : pipes) std::sort(ranks.begin(), ranks.end());
    return pipes;
}

}  // namespace trireme::rank
