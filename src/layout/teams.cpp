#include <algorithm>
#include <map>

#include "trireme/base/error.hpp"
#include "trireme/layout/layout.hpp"

namespace trireme::layout {
namespace {

bool has_equal_replica_counts(const Layout& layout) {
    const std::size_t replica_count = layout.stages.front().replicas.size();
    return std::ranges::all_of(
        layout.stages, [&](const StageLayout& stage) { return stage.replicas.size() == replica_count; });
}

// True if `team` holds the replica with index `replica` of each of its stages.
bool holds_replica_of_each_stage(const Team& team, const Layout& layout, std::size_t replica) {
    return std::ranges::all_of(team.stages, [&](int stage) {
        return layout.stages[static_cast<std::size_t>(stage)].replicas[replica].ranks == team.ranks;
    });
}

// True if the teams form one pipeline per data-parallel replica, all with the same number of teams, and the
// team at position p of a pipeline of `pipe` teams holds the stages list_stages(p, pipe).
template <class ListStages>
bool forms_pipelines(const Layout& layout, const ListStages& list_stages) {
    if (!has_equal_replica_counts(layout)) return false;
    const std::size_t replica_count = layout.stages.front().replicas.size();
    const std::vector<Team> teams = make_teams(layout);
    const std::size_t pipe = teams.size() / replica_count;
    if (pipe * replica_count != teams.size()) return false;
    for (std::size_t t = 0; t < teams.size(); ++t) {
        if (teams[t].stages != list_stages(static_cast<int>(t % pipe), static_cast<int>(pipe))) return false;
        if (!holds_replica_of_each_stage(teams[t], layout, t / pipe)) return false;
    }
    return true;
}

}  // namespace

std::size_t count_pipelines(const Layout& layout) {
    std::size_t fewest = layout.stages.front().replicas.size();
    for (const StageLayout& stage : layout.stages) fewest = std::min(fewest, stage.replicas.size());
    return fewest;
}

std::vector<Team> make_teams(const Layout& layout) {
    std::map<int, Team> team_by_first_rank;
    // Per team: the index of its replica in its first stage, and its first rank. Teams are added in the order
    // of their first stages. The stable sort keeps this order among teams with equal replica indices.
    std::vector<std::pair<std::size_t, int>> order;
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const auto& replicas = layout.stages[s].replicas;
        for (std::size_t r = 0; r < replicas.size(); ++r) {
            const int first_rank = replicas[r].ranks.front();
            const auto [entry, is_new] =
                team_by_first_rank.try_emplace(first_rank, Team{replicas[r].ranks, {}});
            entry->second.stages.push_back(static_cast<int>(s));
            if (is_new) order.emplace_back(r, first_rank);
        }
    }
    std::ranges::stable_sort(order, {}, &std::pair<std::size_t, int>::first);
    std::vector<Team> teams;
    teams.reserve(order.size());
    for (const auto& [replica, first_rank] : order)
        teams.push_back(std::move(team_by_first_rank.at(first_rank)));
    return teams;
}

int find_team(const std::vector<Team>& teams, const Layout& layout, int stage, int replica) {
    const StageLayout& stage_layout = layout.stages.at(static_cast<std::size_t>(stage));
    const std::vector<int>& ranks = stage_layout.replicas.at(static_cast<std::size_t>(replica)).ranks;
    const auto team = std::ranges::find(teams, ranks, &Team::ranks);
    if (team == teams.end()) {
        throw BugError(
            cat("replica ", replica, " of stage ", stage, " belongs to none of the ", teams.size(), " teams"));
    }
    return static_cast<int>(team - teams.begin());
}

int find_team_of_rank(const std::vector<Team>& teams, int rank) {
    const auto holds_rank = [&](const Team& team) { return std::ranges::count(team.ranks, rank) > 0; };
    const auto team = std::ranges::find_if(teams, holds_rank);
    return team == teams.end() ? -1 : static_cast<int>(team - teams.begin());
}

bool is_grid(const Layout& layout) {
    const int stage_count = static_cast<int>(layout.stages.size());
    return forms_pipelines(layout, [stage_count](int p, int pipe) {
        std::vector<int> stages;
        stages.reserve(static_cast<std::size_t>(stage_count / pipe));
        for (int chunk = 0; chunk < stage_count / pipe; ++chunk) stages.push_back(chunk * pipe + p);
        return stages;
    });
}

bool is_v_shaped(const Layout& layout) {
    return forms_pipelines(layout, [](int p, int pipe) { return std::vector{p, 2 * pipe - 1 - p}; });
}

}  // namespace trireme::layout
