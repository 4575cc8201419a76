#include "trireme/rank/rank_groups.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/rank/gpu_groups.hpp"

namespace trireme::rank {
namespace {

bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Returns the ranks of all replicas of a stage, ascending.
std::vector<int> ranks_of_stage(const layout::StageLayout& stage) {
    std::vector<int> ranks;
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        ranks.insert(ranks.end(), replica.ranks.begin(), replica.ranks.end());
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::unique_ptr<comm::Communicator> update_group(const comm::Session& session, const plan::Plan& plan,
                                                 device::Patience patience) {
    if (!plan.training.shape.updates_alone) return session.all_ranks("update", patience);
    std::unique_ptr<comm::Communicator> own;
    for (const layout::StageLayout& stage : plan.layout.stages) {
        const std::vector<int> ranks = ranks_of_stage(stage);
        if (contains(ranks, session.rank())) own = session.group_of(ranks, "update", patience);
    }
    return own ? std::move(own) : comm::single_rank("update");
}

// Extends the groups that carry tensors to GPU memory, in the same order on all ranks.
void carry_tensors(RankGroups& groups, const comm::Session& session, const plan::Plan& plan,
                   const GroupWiring& wiring) {
    const std::vector<comm::RankPair> onward = pairs_between_stages(plan, groups.pipe);
    carry_tensors(groups.activations, groups.pipe, onward, session, wiring);
    carry_tensors(groups.gradients, groups.pipe, the_other_way(onward), session, wiring);
    for (const layout::Team& team : plan.teams) {
        if (!contains(team.ranks, session.rank())) continue;
        carry_tensors(groups.tensor, team.ranks, comm::every_pair_of(static_cast<int>(team.ranks.size())),
                      session, wiring);
    }
    for (auto& [ranks, group] : groups.data)
        carry_tensors(group, ranks, comm::every_pair_of(static_cast<int>(ranks.size())), session, wiring);
}

// Disjoint sets of connected teams. The lowest team represents its set.
class Connections {
public:
    explicit Connections(std::size_t teams) : first_(teams) { std::iota(first_.begin(), first_.end(), 0); }

    int first_of(int team) const {
        while (first_[static_cast<std::size_t>(team)] != team) team = first_[static_cast<std::size_t>(team)];
        return team;
    }
    void connect(int a, int b) {
        const int low = std::min(first_of(a), first_of(b));
        const int high = std::max(first_of(a), first_of(b));
        first_[static_cast<std::size_t>(high)] = low;
    }

private:
    std::vector<int> first_;
};

}  // namespace

RankGroups make_groups(const comm::Session& session, const plan::Plan& plan,
                       const std::vector<layout::Bucket>& buckets, const GroupWiring& wiring) {
    const device::Patience patience = wiring.patience;
    RankGroups groups;
    for (const std::vector<int>& pipe : pipes_of(plan)) {
        if (!contains(pipe, session.rank())) continue;
        groups.pipe = pipe;
        groups.activations = session.group_of(pipe, "activations", patience);
        groups.gradients = session.group_of(pipe, "gradients", patience);
    }
    for (const layout::Team& team : plan.teams) {
        if (team.ranks.size() == 1 || !contains(team.ranks, session.rank())) continue;
        groups.tensor = session.group_of(team.ranks, "tensor", patience);
    }
    groups.update = update_group(session, plan, patience);
    groups.record = session.all_ranks("record", patience);
    groups.data = stage::make_data_groups(session, buckets, patience);
    if (wiring.queue != nullptr) carry_tensors(groups, session, plan, wiring);
    return groups;
}

std::vector<std::vector<int>> pipes_of(const plan::Plan& plan) {
    const schedule::PipelineShape& shape = plan.training.shape;
    Connections connections(plan.teams.size());
    for (int stage = 0; stage + 1 < shape.stages(); ++stage) {
        for (int m = 0; m < shape.microbatches; ++m) {
            connections.connect(shape.executor_of(stage, m), shape.executor_of(stage + 1, m));
        }
    }
    std::vector<std::vector<int>> by_first(plan.teams.size());
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        auto& ranks = by_first[static_cast<std::size_t>(connections.first_of(static_cast<int>(team)))];
        ranks.insert(ranks.end(), plan.teams[team].ranks.begin(), plan.teams[team].ranks.end());
    }
    std::erase_if(by_first, [](const std::vector<int>& ranks) { return ranks.empty(); });
    for (std::vector<int>& ranks : by_first) std::sort(ranks.begin(), ranks.end());
    return by_first;
}

}  // namespace trireme::rank
