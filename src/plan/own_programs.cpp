#include "plan/own_programs.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

constexpr int most_steps = 100;  // that work may be done ahead, or weights be old

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

// Proving takes more steps than these two.
void require_near_steps(const Phases& programs, const PipelineShape& shape, const std::string& place) {
    for (const std::vector<Program>* part : {&programs.prologue, &programs.body}) {
        for (const Program& program : *part) {
            for (const Instruction& instruction : program) {
                const int ahead = instruction.micro_batch / shape.micro_batches;
                if (ahead <= most_steps && instruction.age <= most_steps) continue;
                throw ConfigError(cat(text_of(instruction), " of ", place,
                                      ahead > most_steps
                                          ? cat(" is of ", ahead, " steps later")
                                          : cat(" uses weights of ", instruction.age, " updates ago"),
                                      ", where a step has ", shape.micro_batches,
                                      shape.micro_batches == 1 ? " micro-batch" : " micro-batches",
                                      "; programs may go ", most_steps, " steps ahead or back"));
            }
        }
    }
}

}  // namespace

Phases programs_of_teams(const Phases& programs, const std::vector<Team>& teams, const PipelineShape& shape,
                         const std::string& place) {
    require_near_steps(programs, shape, place);
    const std::vector<Program>& given = programs.body;
    const std::size_t ranks = working_ranks(teams).size();
    if (given.size() != teams.size() && given.size() != ranks) {
        const std::string both = ranks == teams.size() ? "" : cat(" on ", ranks, " ranks");
        throw ConfigError(cat(place, " holds ", given.size(), given.size() == 1 ? " program" : " programs",
                              ", but the layout has ", teams.size(), " teams", both,
                              "; write one line for each ", both.empty() ? "team" : "team, or for each rank"));
    }
    if (given.size() != ranks) return programs;
    Phases of_teams = {.prologue = from_ranks(programs.prologue, teams, place),
                       .body = from_ranks(given, teams, place)};
    const bool are_of_teams = given.size() == teams.size() && (fit(given, shape) || !fit(of_teams.body, shape));
    return are_of_teams ? programs : of_teams;
}

bool validates(const Phases& programs, const std::string& place) {
    const Instruction* validation = nullptr;
    const Instruction* other_step = nullptr;
    for (const Program& program : programs.body) {
        std::set<int> validated;  // stages
        for (const Instruction& instruction : program) {
            if (instruction.op != Op::validate) continue;
            validation = &instruction;
            validated.insert(instruction.stage);
        }
        for (const Instruction& instruction : program) {
            if (instruction.op == Op::step && !validated.contains(instruction.stage)) other_step = &instruction;
        }
    }
    if (validation == nullptr || other_step == nullptr) return validation != nullptr;
    throw ConfigError(cat(place, " has ", text_of(*validation), ", but no VALIDATE", other_step->stage,
                          " behind ", text_of(*other_step),
                          " in the same line; validate all updates, or none"));
}

Phases forward_part(const Phases& phases, const PipelineShape& shape) {
    const auto is_of_forward = [](const Instruction& i) {
        return i.op == Op::forward || i.op == Op::send_forward || i.op == Op::receive_forward;
    };
    const std::vector<Program> step = unrolled(phases, shape, 1);
    Phases part{.prologue = std::vector<Program>(step.size()), .body = std::vector<Program>(step.size())};
    for (std::size_t team = 0; team < step.size(); ++team) {
        std::ranges::copy_if(step[team], std::back_inserter(part.body[team]), is_of_forward);
        for (Instruction& instruction : part.body[team]) instruction.age = 0;
    }
    return part;
}

}  // namespace trireme
