#include "train/rank_groups.hpp"

#include <algorithm>

namespace trireme {
namespace {

bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

RankGroups make_groups(const Session& session, const Plan& plan, const std::vector<Bucket>& buckets,
                       Patience patience) {
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
    groups.data = make_data_groups(session, buckets, patience);
    return groups;
}

}  // namespace trireme
