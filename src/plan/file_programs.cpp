#include "plan/file_programs.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::plan {
namespace {

// Limit for Instruction::age, and for the number of steps by which the micro-batch of an instruction is ahead
// of the current step.
constexpr int max_step_distance = 100;

// Returns the ranks of all teams in ascending order.
std::vector<int> list_working_ranks(const std::vector<layout::Team>& teams) {
    std::vector<int> ranks;
    for (const layout::Team& team : teams) ranks.insert(ranks.end(), team.ranks.begin(), team.ranks.end());
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

// True if `shape` assigns all compute instructions of programs[t] to team t (see PipelineShape::executor).
// Ignores instructions whose stage or micro-batch does not exist; verify_programs() rejects them.
bool teams_execute_own_programs(const std::vector<schedule::Program>& programs,
                                const schedule::PipelineShape& shape) {
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (const schedule::Instruction& instruction : programs[team]) {
            if (!is_compute(instruction.op)) continue;
            const bool exists = instruction.stage >= 0 && instruction.stage < shape.stages() &&
                                instruction.microbatch >= 0 && instruction.microbatch < shape.microbatches;
            if (!exists) continue;
            const int executor = shape.find_executor(instruction.stage, instruction.microbatch);
            if (executor != static_cast<int>(team)) return false;
        }
    }
    return true;
}

// Returns one program per team. `programs` has one program per rank that is not idle, in ascending order of
// ranks. Throws ConfigError if the ranks of a team have different programs.
std::vector<schedule::Program> merge_rank_programs(const std::vector<schedule::Program>& programs,
                                                   const std::vector<layout::Team>& teams,
                                                   const std::string& place) {
    const std::vector<int> ranks = list_working_ranks(teams);
    const auto find_program = [&](int rank) -> const schedule::Program& {
        const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
        return programs[static_cast<std::size_t>(at - ranks.begin())];
    };
    std::vector<schedule::Program> team_programs;
    for (const layout::Team& team : teams) {
        const schedule::Program& first_program = team_programs.emplace_back(find_program(team.ranks.front()));
        for (const int rank : team.ranks) {
            if (find_program(rank) == first_program) continue;
            throw ConfigError(cat(place, " gives rank ", team.ranks.front(), " and rank ", rank,
                                  " different programs, but they hold a replica together; give both ranks the "
                                  "same program"));
        }
    }
    return team_programs;
}

// Throws ConfigError if an instruction's micro-batch is more than max_step_distance steps ahead, or if its
// weights are more than max_step_distance updates old. verify_programs() gets more unrolled steps than
// the largest distance, so max_step_distance limits the time of the verification.
void check_step_distances(const schedule::Phases& programs, const schedule::PipelineShape& shape,
                          const std::string& place) {
    for (const std::vector<schedule::Program>* phase : {&programs.prologue, &programs.body}) {
        for (const schedule::Program& program : *phase) {
            for (const schedule::Instruction& instruction : program) {
                const int steps_ahead = instruction.microbatch / shape.microbatches;
                if (steps_ahead <= max_step_distance && instruction.age <= max_step_distance) continue;
                const auto microbatches = static_cast<std::uint64_t>(shape.microbatches);
                throw ConfigError(cat(to_string(instruction), " of ", place,
                                      steps_ahead > max_step_distance
                                          ? cat(" is ", steps_ahead, " steps ahead, because a step has ",
                                                format_count(microbatches, "micro-batch"))
                                          : cat(" uses the weights of ", instruction.age, " updates ago"),
                                      "; at most ", max_step_distance, " are allowed"));
            }
        }
    }
}

// The cell number of each compute instruction in a team's line of the file. Only the non-empty cells of the
// body are numbered, from 1.
class ComputeCells {
public:
    ComputeCells(const schedule::Program& program, int microbatches) : program_(program) {
        for (std::size_t i = 0; i < program.size(); ++i) {
            const schedule::Instruction& each = program[i];
            if (is_compute(each.op))
                cells_.try_emplace({each.op, each.stage, each.microbatch % microbatches}, i + 1);
        }
    }

    // Describes the fault if the line lacks a pass of the micro-batch through the stage, or has the backward
    // pass before the forward pass. Returns an empty text if there is no fault. `microbatch` is numbered within
    // a step. If the two passes in the body belong to different steps, their order does not matter.
    std::string find_fault(int stage, int microbatch) const {
        const auto find_cell = [&](schedule::Op op) {  // 0 if the line has no such instruction
            const auto found = cells_.find({op, stage, microbatch});
            return found == cells_.end() ? 0 : found->second;
        };
        const auto name_instruction = [&](schedule::Op op) {
            return to_string(schedule::Instruction{op, stage, microbatch});
        };
        const auto describe_missing = [&](schedule::Op op) {
            return cat("has no ", name_instruction(op), " among its ", format_count(program_.size(), "cell"),
                       "; add ", name_instruction(op));
        };
        const std::size_t forward_cell = find_cell(schedule::Op::forward);
        const std::size_t backward_cell =
            std::max(find_cell(schedule::Op::backward), find_cell(schedule::Op::backward_input));
        if (forward_cell == 0) return describe_missing(schedule::Op::forward);
        if (backward_cell == 0)
            return cat(describe_missing(schedule::Op::backward), ", or ",
                       name_instruction(schedule::Op::backward_input), " and ",
                       name_instruction(schedule::Op::backward_weight));
        if (find_cell(schedule::Op::backward) == 0 && find_cell(schedule::Op::backward_weight) == 0)
            return describe_missing(schedule::Op::backward_weight);
        const schedule::Instruction& backward_pass = program_[backward_cell - 1];
        const schedule::Instruction& forward_pass = program_[forward_cell - 1];
        if (backward_cell > forward_cell || backward_pass.microbatch != forward_pass.microbatch) return {};
        return cat("has ", to_string(backward_pass), " in cell ", backward_cell, ", before ",
                   to_string(forward_pass), " in cell ", forward_cell, "; put the forward pass first");
    }

private:
    const schedule::Program& program_;
    std::map<std::tuple<schedule::Op, int, int>, std::size_t> cells_;  // by op, stage and micro-batch of a step
};

// Throws ConfigError if a team's line lacks a pass that the team must execute, or has a backward pass before
// its forward pass. verify_programs() would find these faults, too. But its message would refer to send and
// receive instructions, which the user has not written.
void check_compute_instructions(const std::vector<schedule::Program>& team_programs,
                                const schedule::PipelineShape& shape, const std::string& place) {
    std::vector<ComputeCells> cells;
    for (const schedule::Program& program : team_programs) cells.emplace_back(program, shape.microbatches);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
            const int team = shape.find_executor(stage, microbatch);
            const std::string fault = cells[static_cast<std::size_t>(team)].find_fault(stage, microbatch);
            if (!fault.empty()) throw ConfigError(cat(place, ": the line of team ", team, " ", fault));
        }
    }
}

}  // namespace

schedule::Phases order_by_team(const schedule::Phases& programs, const std::vector<layout::Team>& teams,
                               const schedule::PipelineShape& shape, const std::string& place) {
    check_step_distances(programs, shape, place);
    const std::vector<schedule::Program>& file_programs = programs.body;
    const std::size_t rank_count = list_working_ranks(teams).size();
    if (file_programs.size() != teams.size() && file_programs.size() != rank_count) {
        const std::string rank_count_text = rank_count == teams.size() ? "" : cat(" on ", rank_count, " ranks");
        throw ConfigError(cat(place, " holds ", format_count(file_programs.size(), "program"),
                              ", but the layout has ", format_count(teams.size(), "team"), rank_count_text,
                              "; write one line for each ",
                              rank_count_text.empty() ? "team" : "team, or for each rank"));
    }
    if (file_programs.size() != rank_count) {
        check_compute_instructions(file_programs, shape, place);
        return programs;
    }
    schedule::Phases team_programs = {.prologue = merge_rank_programs(programs.prologue, teams, place),
                                      .body = merge_rank_programs(file_programs, teams, place)};
    const bool is_in_team_order =
        file_programs.size() == teams.size() && (teams_execute_own_programs(file_programs, shape) ||
                                                 !teams_execute_own_programs(team_programs.body, shape));
    const schedule::Phases& chosen = is_in_team_order ? programs : team_programs;
    check_compute_instructions(chosen.body, shape, place);
    return chosen;
}

bool validates_updates(const schedule::Phases& programs, const std::string& place) {
    const schedule::Instruction* validation = nullptr;
    const schedule::Instruction* unvalidated_step = nullptr;
    for (const schedule::Program& program : programs.body) {
        std::set<int> validated_stages;
        for (const schedule::Instruction& instruction : program) {
            if (instruction.op != schedule::Op::validate) continue;
            validation = &instruction;
            validated_stages.insert(instruction.stage);
        }
        for (const schedule::Instruction& instruction : program) {
            if (instruction.op == schedule::Op::step && !validated_stages.contains(instruction.stage))
                unvalidated_step = &instruction;
        }
    }
    if (validation == nullptr || unvalidated_step == nullptr) return validation != nullptr;
    throw ConfigError(cat(place, " has ", to_string(*validation), ", but no VALIDATE", unvalidated_step->stage,
                          " after ", to_string(*unvalidated_step),
                          " in the same line; validate all updates, or none"));
}

schedule::Phases extract_forwards(const schedule::Phases& phases, const schedule::PipelineShape& shape) {
    const auto belongs_to_forward = [](const schedule::Instruction& i) {
        return i.op == schedule::Op::forward || i.op == schedule::Op::send_forward ||
               i.op == schedule::Op::receive_forward;
    };
    const std::vector<schedule::Program> step_programs = unroll(phases, shape, 1);
    schedule::Phases forwards{.prologue = std::vector<schedule::Program>(step_programs.size()),
                              .body = std::vector<schedule::Program>(step_programs.size())};
    for (std::size_t team = 0; team < step_programs.size(); ++team) {
        std::ranges::copy_if(step_programs[team], std::back_inserter(forwards.body[team]), belongs_to_forward);
        // An evaluation reads the newest weights.
        for (schedule::Instruction& instruction : forwards.body[team]) instruction.age = 0;
    }
    return forwards;
}

}  // namespace trireme::plan
