#include "plan/own_programs.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::plan {
namespace {

constexpr int most_steps = 100;  // most steps that work may be ahead, or weights be old

std::vector<int> working_ranks(const std::vector<layout::Team>& teams) {
    std::vector<int> ranks;
    for (const layout::Team& team : teams) ranks.insert(ranks.end(), team.ranks.begin(), team.ranks.end());
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

// True if every team is the executor of all work in its program. Unknown stages and micro-batches are left to
// check().
bool fit(const std::vector<schedule::Program>& programs, const schedule::PipelineShape& shape) {
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (const schedule::Instruction& instruction : programs[team]) {
            if (!is_compute(instruction.op)) continue;
            const bool is_known = instruction.stage >= 0 && instruction.stage < shape.stages() &&
                                  instruction.microbatch >= 0 && instruction.microbatch < shape.microbatches;
            if (!is_known) continue;
            const int executor = shape.executor_of(instruction.stage, instruction.microbatch);
            if (executor != static_cast<int>(team)) return false;
        }
    }
    return true;
}

std::vector<schedule::Program> from_ranks(const std::vector<schedule::Program>& programs,
                                          const std::vector<layout::Team>& teams, const std::string& place) {
    const std::vector<int> ranks = working_ranks(teams);
    const auto program_of = [&](int rank) -> const schedule::Program& {
        const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
        return programs[static_cast<std::size_t>(at - ranks.begin())];
    };
    std::vector<schedule::Program> of_teams;
    for (const layout::Team& team : teams) {
        const schedule::Program& first = of_teams.emplace_back(program_of(team.ranks.front()));
        for (const int rank : team.ranks) {
            if (program_of(rank) == first) continue;
            throw ConfigError(cat(place, " gives rank ", team.ranks.front(), " and rank ", rank,
                                  " unlike programs, but they hold a replica together; give both the same"));
        }
    }
    return of_teams;
}

// Limits how far programs reach ahead or back, because the proof unrolls more steps than that.
void require_near_steps(const schedule::Phases& programs, const schedule::PipelineShape& shape,
                        const std::string& place) {
    for (const std::vector<schedule::Program>* part : {&programs.prologue, &programs.body}) {
        for (const schedule::Program& program : *part) {
            for (const schedule::Instruction& instruction : program) {
                const int ahead = instruction.microbatch / shape.microbatches;
                if (ahead <= most_steps && instruction.age <= most_steps) continue;
                throw ConfigError(cat(to_string(instruction), " of ", place,
                                      ahead > most_steps
                                          ? cat(" is of ", ahead, " steps later")
                                          : cat(" uses weights of ", instruction.age, " updates ago"),
                                      ", where a step has ", shape.microbatches,
                                      shape.microbatches == 1 ? " micro-batch" : " micro-batches",
                                      "; programs may go ", most_steps, " steps ahead or back"));
            }
        }
    }
}

// Finds the cells of compute instructions in the line of a team. Cells count from 1.
class Cells {
public:
    Cells(const schedule::Program& program, int microbatches) : program_(program) {
        for (std::size_t i = 0; i < program.size(); ++i) {
            const schedule::Instruction& each = program[i];
            if (is_compute(each.op))
                cells_.try_emplace({each.op, each.stage, each.microbatch % microbatches}, i + 1);
        }
    }

    // Says which work of a micro-batch the line lacks, or has in an impossible order. Empty if there is no
    // fault.
    std::string fault(int stage, int microbatch) const {
        const auto of = [&](schedule::Op op) {
            const auto found = cells_.find({op, stage, microbatch});
            return found == cells_.end() ? 0 : found->second;
        };
        const auto name = [&](schedule::Op op) {
            return to_string(schedule::Instruction{op, stage, microbatch});
        };
        const auto lacks = [&](schedule::Op op) {
            return cat("has no ", name(op), " among its ", counted(program_.size(), "cell"), "; add it");
        };
        const std::size_t forward = of(schedule::Op::forward);
        const std::size_t backward = std::max(of(schedule::Op::backward), of(schedule::Op::backward_input));
        if (forward == 0) return lacks(schedule::Op::forward);
        if (backward == 0)
            return cat(lacks(schedule::Op::backward), ", or ", name(schedule::Op::backward_input), " and ",
                       name(schedule::Op::backward_weight));
        if (of(schedule::Op::backward) == 0 && of(schedule::Op::backward_weight) == 0)
            return lacks(schedule::Op::backward_weight);
        const schedule::Instruction& first = program_[backward - 1];
        const schedule::Instruction& second = program_[forward - 1];
        if (backward > forward || first.microbatch != second.microbatch) return {};
        return cat("has ", to_string(first), " in cell ", backward, ", before ", to_string(second), " in cell ",
                   forward, "; put the forward pass first");
    }

private:
    const schedule::Program& program_;
    std::map<std::tuple<schedule::Op, int, int>, std::size_t> cells_;
};

// The checker would describe the programs with their messages, which the user has not written.
void require_all_work(const std::vector<schedule::Program>& of_teams, const schedule::PipelineShape& shape,
                      const std::string& place) {
    std::vector<Cells> cells;
    for (const schedule::Program& program : of_teams) cells.emplace_back(program, shape.microbatches);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
            const int team = shape.executor_of(stage, microbatch);
            const std::string fault = cells[static_cast<std::size_t>(team)].fault(stage, microbatch);
            if (!fault.empty()) throw ConfigError(cat(place, ": the line of team ", team, " ", fault));
        }
    }
}

}  // namespace

schedule::Phases programs_of_teams(const schedule::Phases& programs, const std::vector<layout::Team>& teams,
                                   const schedule::PipelineShape& shape, const std::string& place) {
    require_near_steps(programs, shape, place);
    const std::vector<schedule::Program>& given = programs.body;
    const std::size_t ranks = working_ranks(teams).size();
    if (given.size() != teams.size() && given.size() != ranks) {
        const std::string both = ranks == teams.size() ? "" : cat(" on ", ranks, " ranks");
        throw ConfigError(cat(place, " holds ", given.size(), given.size() == 1 ? " program" : " programs",
                              ", but the layout has ", teams.size(), " teams", both,
                              "; write one line for each ", both.empty() ? "team" : "team, or for each rank"));
    }
    if (given.size() != ranks) {
        require_all_work(given, shape, place);
        return programs;
    }
    schedule::Phases of_teams = {.prologue = from_ranks(programs.prologue, teams, place),
                                 .body = from_ranks(given, teams, place)};
    const bool are_of_teams = given.size() == teams.size() && (fit(given, shape) || !fit(of_teams.body, shape));
    const schedule::Phases& chosen = are_of_teams ? programs : of_teams;
    require_all_work(chosen.body, shape, place);
    return chosen;
}

bool validates(const schedule::Phases& programs, const std::string& place) {
    const schedule::Instruction* validation = nullptr;
    const schedule::Instruction* other_step = nullptr;
    for (const schedule::Program& program : programs.body) {
        std::set<int> validated;  // stages
        for (const schedule::Instruction& instruction : program) {
            if (instruction.op != schedule::Op::validate) continue;
            validation = &instruction;
            validated.insert(instruction.stage);
        }
        for (const schedule::Instruction& instruction : program) {
            if (instruction.op == schedule::Op::step && !validated.contains(instruction.stage))
                other_step = &instruction;
        }
    }
    if (validation == nullptr || other_step == nullptr) return validation != nullptr;
    throw ConfigError(cat(place, " has ", to_string(*validation), ", but no VALIDATE", other_step->stage,
                          " after ", to_string(*other_step),
                          " in the same line; validate all updates, or none"));
}

schedule::Phases forward_part(const schedule::Phases& phases, const schedule::PipelineShape& shape) {
    const auto is_of_forward = [](const schedule::Instruction& i) {
        return i.op == schedule::Op::forward || i.op == schedule::Op::send_forward ||
               i.op == schedule::Op::receive_forward;
    };
    const std::vector<schedule::Program> step = unrolled(phases, shape, 1);
    schedule::Phases part{.prologue = std::vector<schedule::Program>(step.size()),
                          .body = std::vector<schedule::Program>(step.size())};
    for (std::size_t team = 0; team < step.size(); ++team) {
        std::ranges::copy_if(step[team], std::back_inserter(part.body[team]), is_of_forward);
        for (schedule::Instruction& instruction : part.body[team]) instruction.age = 0;
    }
    return part;
}

}  // namespace trireme::plan
