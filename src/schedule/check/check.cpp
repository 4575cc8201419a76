#include "trireme/schedule/check.hpp"

#include <algorithm>
#include <utility>

#include "schedule/check/abstract_machine.hpp"
#include "schedule/check/collective_order.hpp"
#include "schedule/check/instruction_rules.hpp"
#include "schedule/check/message_table.hpp"
#include "schedule/check/missing_work.hpp"
#include "schedule/check/split_message.hpp"
#include "schedule/programs/equal_rows.hpp"
#include "schedule/programs/instruction_queries.hpp"
#include "schedule/programs/work_record.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

using Found = std::optional<Fault>;

// Checks holders and executors of a stage. `stage_of` has one entry per team: the last stage known to be held.
bool is_sound(const std::vector<int>& holders, const std::vector<int>& executors, int stage,
              std::vector<int>& stage_of) {
    for (const int team : holders) {
        if (team < 0 || team >= static_cast<int>(stage_of.size())) return false;
        if (std::exchange(stage_of[static_cast<std::size_t>(team)], stage) == stage) return false;
    }
    return std::all_of(executors.begin(), executors.end(), [&](int team) {
        return team >= 0 && team < static_cast<int>(stage_of.size()) &&
               stage_of[static_cast<std::size_t>(team)] == stage;
    });
}

void require_sound(const PipelineShape& shape) {
    if (shape.teams < 1 || shape.slots < 1 || shape.steps < 1 ||
        shape.executor.size() != shape.holders.size()) {
        throw BugError(cat("a shape of ", shape.teams, " teams, ", shape.slots, " slots, ", shape.steps,
                           " steps, holders for ", shape.holders.size(), " stages and executors for ",
                           shape.executor.size()));
    }
    if (shape.updates_alone && shape.validates) {
        throw BugError("a shape whose stages are updated alone; they wait for no norm that could be validated");
    }
    const std::size_t caps = shape.most_activations.size();
    if (caps != 0 && caps != static_cast<std::size_t>(shape.teams)) {
        throw BugError(cat("a shape of ", shape.teams, " teams bounds the activations of ", caps));
    }
    std::vector<int> stage_of(static_cast<std::size_t>(shape.teams), -1);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        const auto s = static_cast<std::size_t>(stage);
        if (static_cast<int>(shape.executor[s].size()) != shape.microbatches ||
            !is_sound(shape.holders[s], shape.executor[s], stage, stage_of)) {
            throw BugError(cat("stage ", stage, " of the shape needs holders among its ", shape.teams,
                               " teams, each once, and one of them for each of the ", shape.microbatches,
                               " micro-batches"));
        }
    }
}

// Records all programs in `done`, up to the first instruction that breaks a rule, and returns that fault.
Found broken_instruction(const std::vector<Program>& programs, const PipelineShape& shape, WorkRecord& done) {
    for (int team = 0; team < shape.teams; ++team) {
        const Program& program = programs[static_cast<std::size_t>(team)];
        for (std::size_t position = 0; position < program.size(); ++position) {
            if (auto broken = broken_rule({programs, shape, done, team, position})) {
                return Fault{team, position, *std::move(broken)};
            }
            done.add(team, program[position]);
        }
    }
    return std::nullopt;
}

// Describes the position of each team that has not finished.
Found deadlock(const std::vector<Program>& programs, const AbstractMachine& machine) {
    Found stuck;
    for (int team = 0; team < static_cast<int>(programs.size()); ++team) {
        if (machine.is_finished(team)) continue;
        const std::size_t position = machine.position(team);
        if (!stuck) stuck = Fault{team, position, ""};
        const Instruction& instruction = programs[static_cast<std::size_t>(team)][position];
        stuck->what += cat(stuck->what.empty() ? "" : "; ", "team ", team, " is stuck at ",
                           to_string(instruction), ", which ", machine.obstacle(team));
    }
    return stuck;
}

// Finds faults between programs that are correct by themselves.
Found conflict(const std::vector<Program>& programs, const PipelineShape& shape) {
    const MessageTable messages(programs, shape);
    if (Found crossed = messages.crossing(programs)) return crossed;
    if (Found unlike = unlike_order(programs)) return unlike;
    if (Found split = shape.validates ? split_message(programs, shape) : std::nullopt) return split;
    const std::vector<StageCost> costs(shape.holders.size());
    const TeamFactors alike;
    AbstractMachine machine(programs, shape, messages, costs, alike);
    machine.run([](int, const Span&) {});
    return deadlock(programs, machine);
}

Proof proof_of(const PipelineShape& shape, const WorkRecord& done) {
    Proof proof;
    for (int team = 0; team < shape.teams; ++team) {
        proof.peak_activations.push_back(done.most_kept(team));
        proof.peak_gradients.push_back(done.most_gradients(team));
        std::vector<int>& of_stage = proof.peak_of_stage.emplace_back(shape.holders.size());
        std::vector<int>& versions = proof.weight_versions.emplace_back(shape.holders.size());
        for (const HeldStage& held : done.held_by(team)) {
            of_stage[static_cast<std::size_t>(held.stage)] = held.most_kept;
            versions[static_cast<std::size_t>(held.stage)] = 1 + held.oldest;
        }
    }
    return proof;
}

Verdict verdict_of(const std::vector<Program>& programs, const PipelineShape& shape) {
    WorkRecord done(shape);
    Found fault = broken_instruction(programs, shape, done);
    if (!fault) fault = missing_work(programs, shape, done);
    if (!fault) fault = conflict(programs, shape);
    if (fault) return {std::move(fault), {}};
    return {std::nullopt, proof_of(shape, done)};
}

// Repeats the values of the first row for each further row.
template <class OfTeam>
void repeat_rows(std::vector<OfTeam>& of_teams, int rows) {
    const std::vector<OfTeam> of_row = of_teams;
    for (int row = 1; row < rows; ++row) of_teams.insert(of_teams.end(), of_row.begin(), of_row.end());
}

Proof proof_of_rows(Proof proof, int rows) {
    repeat_rows(proof.peak_activations, rows);
    repeat_rows(proof.peak_of_stage, rows);
    repeat_rows(proof.peak_gradients, rows);
    repeat_rows(proof.weight_versions, rows);
    return proof;
}

}  // namespace

// Equal rows wait for each other only at their collectives, which they reach at the same time. So the proof of
// one row holds for all. If it fails, all programs are checked, so that the fault names their numbers.
Verdict check(const std::vector<Program>& programs, const PipelineShape& shape) {
    require_sound(shape);
    if (static_cast<int>(programs.size()) != shape.teams) {
        return {Fault{0, 0,
                      cat("each of the ", shape.teams, " teams needs a program, but the number of programs is ",
                          programs.size())},
                {}};
    }
    if (const std::optional<FirstRow> row = first_of_equal_rows(programs, shape)) {
        Verdict verdict = verdict_of(row->programs, row->shape);
        if (verdict.is_proved()) return {std::nullopt, proof_of_rows(std::move(verdict.proof), row->rows)};
    }
    return verdict_of(programs, shape);
}

}  // namespace trireme::schedule
