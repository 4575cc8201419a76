#include "train/rank_groups.hpp"

#include <algorithm>
#include <numeric>

namespace trireme {
namespace {

// Teams that are connected, each under the number of the first of them.
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

bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

std::unique_ptr<Communicator> group_of(const Session& session, const std::vector<int>& ranks,
                                       const std::string& name, Patience patience) {
    if (ranks.size() == 1) return single_rank(name);
    return session.group_of(ranks, name, patience);
}

}  // namespace

std::vector<std::vector<int>> pipes_of(const Plan& plan) {
    const PipelineShape& shape = plan.training.shape;
    Connections connections(plan.teams.size());
    for (int stage = 0; stage + 1 < shape.stages(); ++stage) {
        for (int m = 0; m < shape.micro_batches; ++m) {
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

RankGroups lone_groups() {
    RankGroups groups;
    groups.pipe = {0};
    groups.activations = single_rank("activations");
    groups.gradients = single_rank("gradients");
    return groups;
}

RankGroups make_groups(const Session& session, const Plan& plan, const std::vector<Bucket>& buckets,
                       Patience patience) {
    RankGroups groups;
    for (const std::vector<int>& pipe : pipes_of(plan)) {
        if (!contains(pipe, session.rank())) continue;
        groups.pipe = pipe;
        groups.activations = group_of(session, pipe, "activations", patience);
        groups.gradients = group_of(session, pipe, "gradients", patience);
    }
    for (const Team& team : plan.teams) {
        if (team.ranks.size() == 1 || !contains(team.ranks, session.rank())) continue;
        groups.tensor = session.group_of(team.ranks, "tensor", patience);
    }
    groups.data = make_data_groups(session, buckets, patience);
    return groups;
}

}  // namespace trireme
