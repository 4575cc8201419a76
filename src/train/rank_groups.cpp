#include "train/rank_groups.hpp"

#include <algorithm>

#include "train/gpu_groups.hpp"

namespace trireme {
namespace {

bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Of all replicas of a stage, ascending.
std::vector<int> ranks_of_stage(const StageLayout& stage) {
    std::vector<int> ranks;
    for (const ReplicaLayout& replica : stage.replicas) {
        ranks.insert(ranks.end(), replica.ranks.begin(), replica.ranks.end());
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::unique_ptr<Communicator> update_group(const Session& session, const Plan& plan, Patience patience) {
    if (!plan.training.shape.updates_alone) return session.all_ranks("update", patience);
    std::unique_ptr<Communicator> own;
    for (const StageLayout& stage : plan.layout.stages) {
        const std::vector<int> ranks = ranks_of_stage(stage);
        if (contains(ranks, session.rank())) own = session.group_of(ranks, "update", patience);
    }
    return own ? std::move(own) : single_rank("update");
}

// Those in which tensors of the model travel, one after the other in one order on all ranks.
void carry_tensors(RankGroups& groups, const Session& session, const Plan& plan, const GroupWiring& wiring) {
    const std::vector<RankPair> onward = pairs_between_stages(plan, groups.pipe);
    carry_tensors(groups.activations, groups.pipe, onward, session, wiring);
    carry_tensors(groups.gradients, groups.pipe, the_other_way(onward), session, wiring);
    for (const Team& team : plan.teams) {
        if (!contains(team.ranks, session.rank())) continue;
        carry_tensors(groups.tensor, team.ranks, every_pair_of(static_cast<int>(team.ranks.size())), session,
                      wiring);
    }
    for (auto& [ranks, group] : groups.data)
        carry_tensors(group, ranks, every_pair_of(static_cast<int>(ranks.size())), session, wiring);
}

}  // namespace

RankGroups make_groups(const Session& session, const Plan& plan, const std::vector<Bucket>& buckets,
                       const GroupWiring& wiring) {
    const Patience patience = wiring.patience;
    RankGroups groups;
    for (const std::vector<int>& pipe : pipes_of(plan)) {
        if (!contains(pipe, session.rank())) continue;
        groups.pipe = pipe;
        groups.activations = session.group_of(pipe, "activations", patience);
        groups.gradients = session.group_of(pipe, "gradients", patience);
    }
    for (const Team& team : plan.teams) {
        if (team.ranks.size() == 1 || !contains(team.ranks, session.rank())) continue;
        groups.tensor = session.group_of(team.ranks, "tensor", patience);
    }
    groups.update = update_group(session, plan, patience);
    groups.record = session.all_ranks("record", patience);
    groups.data = make_data_groups(session, buckets, patience);
    if (wiring.queue != nullptr) carry_tensors(groups, session, plan, wiring);
    return groups;
}

}  // namespace trireme
