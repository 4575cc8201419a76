#include "plan/own_programs.hpp"

#include <algorithm>
#include <iterator>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

std::vector<int> working_ranks(const std::vector<Team>& teams) {
    std::vector<int> ranks;
    for (const Team& team : teams) ranks.insert(ranks.end(), team.ranks.begin(), team.ranks.end());
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

// Whether every team executes what its program says; what it says wrongly, check() finds.
bool fit(const std::vector<Program>& programs, const PipelineShape& shape) {
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (const Instruction& instruction : programs[team]) {
            if (!is_compute(instruction.op)) continue;
            const bool is_known = instruction.stage >= 0 && instruction.stage < shape.stages() &&
                                  instruction.micro_batch >= 0 && instruction.micro_batch < shape.micro_batches;
            if (!is_known) continue;
            const int executor = shape.executor_of(instruction.stage, instruction.micro_batch);
            if (executor != static_cast<int>(team)) return false;
        }
    }
    return true;
}

std::vector<Program> from_ranks(const std::vector<Program>& programs, const std::vector<Team>& teams,
                                const std::string& place) {
    const std::vector<int> ranks = working_ranks(teams);
    const auto program_of = [&](int rank) -> const Program& {
        const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
        return programs[static_cast<std::size_t>(at - ranks.begin())];
    };
    std::vector<Program> of_teams;
    for (const Team& team : teams) {
        const Program& first = of_teams.emplace_back(program_of(team.ranks.front()));
        for (const int rank : team.ranks) {
            if (program_of(rank) == first) continue;
            throw ConfigError(cat(place, " gives rank ", team.ranks.front(), " and rank ", rank,
                                  " unlike programs, but they hold a replica together; give both the same"));
        }
    }
    return of_teams;
}

}  // namespace

std::vector<Program> programs_of_teams(const std::vector<Program>& programs, const std::vector<Team>& teams,
                                       const PipelineShape& shape, const std::string& place) {
    const std::size_t ranks = working_ranks(teams).size();
    if (programs.size() != teams.size() && programs.size() != ranks) {
        const std::string both = ranks == teams.size() ? "" : cat(" on ", ranks, " ranks");
        throw ConfigError(cat(place, " holds ", programs.size(),
                              programs.size() == 1 ? " program" : " programs", ", but the layout has ",
                              teams.size(), " teams", both, "; write one line for each ",
                              both.empty() ? "team" : "team, or for each rank"));
    }
    if (programs.size() != ranks) return programs;
    std::vector<Program> of_teams = from_ranks(programs, teams, place);
    const bool are_of_teams =
        programs.size() == teams.size() && (fit(programs, shape) || !fit(of_teams, shape));
    return are_of_teams ? programs : of_teams;
}

std::vector<Program> forward_part(const std::vector<Program>& programs) {
    const auto is_of_forward = [](const Instruction& i) {
        return i.op == Op::forward || i.op == Op::send_forward || i.op == Op::receive_forward;
    };
    std::vector<Program> part(programs.size());
    for (std::size_t team = 0; team < programs.size(); ++team) {
        std::ranges::copy_if(programs[team], std::back_inserter(part[team]), is_of_forward);
    }
    return part;
}

}  // namespace trireme
