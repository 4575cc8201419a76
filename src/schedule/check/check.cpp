#include "trireme/schedule/check.hpp"

#include <algorithm>
#include <utility>

#include "schedule/check/abstract_machine.hpp"
#include "schedule/check/collective_order.hpp"
#include "schedule/check/instruction_rules.hpp"
#include "schedule/check/message_table.hpp"
#include "schedule/check/missing_work.hpp"
#include "schedule/check/split_message.hpp"
#include "schedule/programs/equal_replicas.hpp"
#include "schedule/programs/instruction_queries.hpp"
#include "schedule/programs/work_record.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

using OptionalFault = std::optional<Fault>;

// True if the holders of a stage are distinct teams and its executors are among them. `last_stage_of_team` has
// one entry per team: the last stage for which the team was listed as holder. The function updates the entries.
bool is_stage_sound(const std::vector<int>& holders, const std::vector<int>& executors, int stage,
                    std::vector<int>& last_stage_of_team) {
    for (const int team : holders) {
        if (team < 0 || team >= static_cast<int>(last_stage_of_team.size())) return false;
        if (std::exchange(last_stage_of_team[static_cast<std::size_t>(team)], stage) == stage) return false;
    }
    return std::all_of(executors.begin(), executors.end(), [&](int team) {
        return team >= 0 && team < static_cast<int>(last_stage_of_team.size()) &&
               last_stage_of_team[static_cast<std::size_t>(team)] == stage;
    });
}

void require_sound_shape(const PipelineShape& shape) {
    if (shape.teams < 1 || shape.slots < 1 || shape.steps < 1 ||
        shape.executor.size() != shape.holders.size()) {
        throw BugError(cat("a pipeline shape is invalid: it has ", shape.teams, " teams, ", shape.slots,
                           " slots, ", shape.steps, " steps, holders for ", shape.holders.size(),
                           " stages, and executors for ", shape.executor.size(), " stages"));
    }
    if (shape.first_trained_stage < 0 || shape.first_trained_stage >= shape.stages() ||
        (shape.first_trained_stage > 0 && shape.has_speculative_updates)) {
        throw BugError(cat("a pipeline shape of ", shape.stages(), " stages has ", shape.first_trained_stage,
                           " frozen stages", shape.has_speculative_updates ? " and speculative updates" : ""));
    }
    if (shape.updates_stages_independently && shape.has_speculative_updates) {
        throw BugError(
            "a pipeline shape has both independent and speculative updates, but independent updates use no "
            "global norm, so that there is nothing to validate");
    }
    const std::size_t bounded_teams = shape.max_activations.size();
    if (bounded_teams != 0 && bounded_teams != static_cast<std::size_t>(shape.teams)) {
        throw BugError(cat("a pipeline shape of ", shape.teams, " teams has activation limits for ",
                           bounded_teams, " teams"));
    }
    std::vector<int> last_stage_of_team(static_cast<std::size_t>(shape.teams), -1);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        const auto s = static_cast<std::size_t>(stage);
        if (static_cast<int>(shape.executor[s].size()) != shape.microbatches ||
            !is_stage_sound(shape.holders[s], shape.executor[s], stage, last_stage_of_team)) {
            throw BugError(cat("stage ", stage, " of a pipeline shape needs distinct holders among its ",
                               shape.teams, " teams, and one of the holders as executor of each of the ",
                               shape.microbatches, " micro-batches"));
        }
    }
}

// Records all programs in `done`, up to the first instruction that breaks a rule. Returns the fault of that
// instruction.
OptionalFault find_broken_instruction(const std::vector<Program>& programs, const PipelineShape& shape,
                                      WorkRecord& done) {
    for (int team = 0; team < shape.teams; ++team) {
        const Program& program = programs[static_cast<std::size_t>(team)];
        for (std::size_t position = 0; position < program.size(); ++position) {
            if (auto violation = find_broken_rule({programs, shape, done, team, position})) {
                return Fault{team, position, *std::move(violation)};
            }
            done.add(team, program[position]);
        }
    }
    return std::nullopt;
}

// Finds a pass whose clock depends on what was executed before its step, if the program sets clocks at all.
// Passes after a VALIDATE and passes after a STEP also need a CLOCK of their own: an evaluation may precede the
// former, and the latter may be repeated.
OptionalFault find_unset_clock(const std::vector<Program>& programs) {
    for (int team = 0; team < static_cast<int>(programs.size()); ++team) {
        const Program& program = programs[static_cast<std::size_t>(team)];
        if (std::ranges::find(program, Op::set_clock, &Instruction::op) == program.end()) continue;
        bool is_set = false;
        for (std::size_t position = 0; position < program.size(); ++position) {
            const Op op = program[position].op;
            if (op == Op::step || op == Op::validate) is_set = false;
            if (op == Op::set_clock) is_set = true;
            if (!is_compute(op) || is_set) continue;
            return Fault{
                team, position,
                cat(describe_position(programs, team, position),
                    ", needs a CLOCK before it, because its program sets clocks; put a CLOCK before the "
                    "first pass, and before the first pass after a STEP or VALIDATE")};
        }
    }
    return std::nullopt;
}

// Describes the position of each team whose program cannot continue.
OptionalFault find_deadlock(const std::vector<Program>& programs, const AbstractMachine& machine) {
    OptionalFault deadlock;
    for (int team = 0; team < static_cast<int>(programs.size()); ++team) {
        if (machine.is_finished(team)) continue;
        const std::size_t position = machine.position(team);
        if (!deadlock) deadlock = Fault{team, position, ""};
        const Instruction& instruction = programs[static_cast<std::size_t>(team)][position];
        deadlock->what += cat(deadlock->what.empty() ? "" : "; ", "team ", team, " is stuck at ",
                              to_string(instruction), ", which ", machine.describe_obstacle(team));
    }
    return deadlock;
}

// Finds faults between programs, each of which is correct by itself.
OptionalFault find_conflict(const std::vector<Program>& programs, const PipelineShape& shape) {
    const MessageTable messages(programs, shape);
    if (OptionalFault crossed = messages.find_crossed_message(programs)) return crossed;
    if (OptionalFault unordered = find_order_conflict(programs)) return unordered;
    if (OptionalFault split =
            shape.has_speculative_updates ? find_split_message(programs, shape) : std::nullopt)
        return split;
    const StepCosts unit_costs(std::vector<StageCost>(shape.holders.size()));
    AbstractMachine machine(programs, shape, messages, unit_costs);
    machine.run([](int, const Span&) {});
    return find_deadlock(programs, machine);
}

Proof make_proof(const PipelineShape& shape, const WorkRecord& done) {
    Proof proof;
    for (int team = 0; team < shape.teams; ++team) {
        proof.peak_activations.push_back(done.peak_activations(team));
        proof.peak_gradients.push_back(done.peak_gradient_steps(team));
        std::vector<int>& peaks = proof.peak_activations_of_stage.emplace_back(shape.holders.size());
        std::vector<int>& versions = proof.weight_versions.emplace_back(shape.holders.size());
        for (const StageRecord& record : done.stage_records(team)) {
            peaks[static_cast<std::size_t>(record.stage)] = record.peak_activations;
            versions[static_cast<std::size_t>(record.stage)] = 1 + record.max_age;
        }
    }
    return proof;
}

Verdict find_verdict(const std::vector<Program>& programs, const PipelineShape& shape) {
    WorkRecord done(shape);
    OptionalFault fault = find_broken_instruction(programs, shape, done);
    if (!fault) fault = find_unset_clock(programs);
    if (!fault) fault = find_missing_work(programs, shape, done);
    if (!fault) fault = find_conflict(programs, shape);
    if (fault) return {std::move(fault), {}};
    return {std::nullopt, make_proof(shape, done)};
}

// Repeats the values of the first pipeline replica for each further replica.
template <class TeamValue>
void repeat_for_replicas(std::vector<TeamValue>& values, int replicas) {
    const std::vector<TeamValue> replica_values = values;
    for (int replica = 1; replica < replicas; ++replica)
        values.insert(values.end(), replica_values.begin(), replica_values.end());
}

Proof repeat_proof(Proof proof, int replicas) {
    repeat_for_replicas(proof.peak_activations, replicas);
    repeat_for_replicas(proof.peak_activations_of_stage, replicas);
    repeat_for_replicas(proof.peak_gradients, replicas);
    repeat_for_replicas(proof.weight_versions, replicas);
    return proof;
}

}  // namespace

// Equal pipeline replicas wait for each other only at their collectives, which they reach at the same time. So
// the proof of one replica holds for all. If the first replica has a fault, all programs are checked, so that
// the fault names teams and micro-batches of the complete shape.
Verdict verify_programs(const std::vector<Program>& programs, const PipelineShape& shape) {
    require_sound_shape(shape);
    if (static_cast<int>(programs.size()) != shape.teams) {
        return {Fault{0, 0,
                      cat("each of the ", shape.teams, " teams needs a program, but the number of programs is ",
                          programs.size())},
                {}};
    }
    if (const std::optional<FirstReplica> first_replica = find_equal_replicas(programs, shape)) {
        Verdict verdict = find_verdict(first_replica->programs, first_replica->shape);
        if (verdict.is_proved())
            return {std::nullopt, repeat_proof(std::move(verdict.proof), first_replica->replicas)};
    }
    return find_verdict(programs, shape);
}

}  // namespace trireme::schedule
