#include <algorithm>
#include <map>

#include "trireme/base/error.hpp"
#include "trireme/layout/layout.hpp"

namespace trireme {
namespace {

// Whether `team` is replica `replica` of stages p, p + pipe, p + 2 * pipe, ... to the last.
bool is_regular(const Team& team, const Layout& layout, std::size_t p, std::size_t pipe, std::size_t replica) {
    std::size_t expected = p;
    for (const int stage : team.stages) {
        if (static_cast<std::size_t>(stage) != expected) return false;
        if (layout.stages[expected].replicas[replica].ranks != team.ranks) return false;
        expected += pipe;
    }
    return expected == layout.stages.size() + p;
}

}  // namespace

std::vector<Team> teams_of(const Layout& layout) {
    std::map<int, Team> by_first_rank;
    std::vector<std::pair<std::size_t, int>> order;  // replica of the team's first stage; the team's first rank
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const auto& replicas = layout.stages[s].replicas;
        for (std::size_t r = 0; r < replicas.size(); ++r) {
            const int first = replicas[r].ranks.front();
            const auto [place, is_new] = by_first_rank.try_emplace(first, Team{replicas[r].ranks, {}});
            place->second.stages.push_back(static_cast<int>(s));
            if (is_new) order.emplace_back(r, first);
        }
    }
    std::ranges::stable_sort(order, {}, &std::pair<std::size_t, int>::first);
    std::vector<Team> teams;
    teams.reserve(order.size());
    for (const auto& [replica, first] : order) teams.push_back(std::move(by_first_rank.at(first)));
    return teams;
}

int team_of(const std::vector<Team>& teams, const Layout& layout, int stage, int replica) {
    const StageLayout& holders = layout.stages.at(static_cast<std::size_t>(stage));
    const std::vector<int>& ranks = holders.replicas.at(static_cast<std::size_t>(replica)).ranks;
    const auto team = std::ranges::find(teams, ranks, &Team::ranks);
    if (team == teams.end()) {
        throw BugError(
            cat("replica ", replica, " of stage ", stage, " is none of the ", teams.size(), " teams"));
    }
    return static_cast<int>(team - teams.begin());
}

int team_of_rank(const std::vector<Team>& teams, int rank) {
    const auto holds_rank = [&](const Team& team) { return std::ranges::count(team.ranks, rank) > 0; };
    const auto team = std::ranges::find_if(teams, holds_rank);
    return team == teams.end() ? -1 : static_cast<int>(team - teams.begin());
}

bool is_grid(const Layout& layout) {
    const std::size_t replicas = layout.stages.front().replicas.size();
    for (const StageLayout& stage : layout.stages) {
        if (stage.replicas.size() != replicas) return false;
    }
    const std::vector<Team> teams = teams_of(layout);
    const std::size_t pipe = teams.size() / replicas;
    if (pipe * replicas != teams.size() || layout.stages.size() % pipe != 0) return false;
    for (std::size_t t = 0; t < teams.size(); ++t) {
        if (!is_regular(teams[t], layout, t % pipe, pipe, t / pipe)) return false;
    }
    return true;
}

}  // namespace trireme
