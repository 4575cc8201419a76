#include "schedule/check/missing_work.hpp"

#include <algorithm>
#include <string>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::schedule {
namespace {

using OptionalFault = std::optional<Fault>;

// The programs of a shape, one per team, and the record of their work.
struct RecordedPrograms {
    const std::vector<Program>& all_programs;
    const PipelineShape& shape;
    const WorkRecord& done;

    std::size_t program_length(int team) const { return all_programs[static_cast<std::size_t>(team)].size(); }

    std::string format_length(int team) const { return format_count(program_length(team), "instruction"); }

    // Returns the position of the instruction in the program of `team`, which must contain it.
    std::size_t find_position(int team, const Instruction& instruction) const {
        const Program& program = all_programs[static_cast<std::size_t>(team)];
        return static_cast<std::size_t>(std::find(program.begin(), program.end(), instruction) -
                                        program.begin());
    }
};

// Describes a missing compute instruction. `names` lists the instructions of which the program needs one.
// `receive` is the receive of the input of these instructions. If the program has this receive, the fault is a
// message that no instruction reads.
Fault describe_missing_compute(const RecordedPrograms& programs, const std::string& names,
                               const Instruction& receive) {
    const int team = programs.shape.find_executor(receive.stage, receive.microbatch);
    if (programs.done.has_done_any_part(receive)) {
        const std::size_t position = programs.find_position(team, receive);
        return {team, position,
                cat(describe_position(programs.all_programs, team, position),
                    ", receives an input that no instruction reads, because ", names, " is missing")};
    }
    return {team, programs.program_length(team),
            cat("team ", team, " executes micro-batch ", receive.microbatch, " in stage ", receive.stage,
                ", but its program of ", programs.format_length(team), " has no ", names)};
}

OptionalFault find_missing_compute(const RecordedPrograms& programs, int stage, int microbatch) {
    const auto is_missing = [&](Op op) { return !programs.done.has_done_any_part({op, stage, microbatch}); };
    const auto describe = [&](Op op) { return to_string(Instruction{op, stage, microbatch}); };
    if (is_missing(Op::forward)) {
        return describe_missing_compute(programs, describe(Op::forward),
                                        {Op::receive_forward, stage, microbatch});
    }
    if (!programs.shape.trains(stage)) return std::nullopt;
    if (is_missing(Op::backward_input)) {
        return describe_missing_compute(programs,
                                        describe(Op::backward) + " or " + describe(Op::backward_input),
                                        {Op::receive_backward, stage, microbatch});
    }
    if (!is_missing(Op::backward_weight)) return std::nullopt;
    const int team = programs.shape.find_executor(stage, microbatch);
    return Fault{team, programs.program_length(team),
                 cat("team ", team, " executes ", describe(Op::backward_input), ", but its program of ",
                     programs.format_length(team), " has no ", describe(Op::backward_weight))};
}

// Must only be called if no compute instruction is missing. In this case no receive is missing either, because
// find_broken_rule() requires the receive of each input.
OptionalFault find_missing_send(const RecordedPrograms& programs, const Instruction& send) {
    const int team = programs.shape.find_executor(send.stage, send.microbatch);
    const int peer = find_peer(send, programs.shape);
    if (peer == team || programs.done.has_done_any_part(send)) return std::nullopt;
    return Fault{
        team, programs.program_length(team),
        cat(describe_position(programs.all_programs, peer, programs.find_position(peer, find_receive(send))),
            ", receives a message that is never sent: the program of team ", team, " has no ",
            to_string(send))};
}

// Returns "no REDUCE0", or "REDUCE0 for only 1 of 2 steps". `done_count` is less than `steps`.
std::string describe_count(const Instruction& collective, int done_count, int steps) {
    if (done_count == 0) return "no " + to_string(collective);
    return cat(to_string(collective), " for only ", done_count, " of ", steps, " steps");
}

OptionalFault find_missing_collective(const RecordedPrograms& programs, int team, const StageRecord& record) {
    struct Count {
        Op op;
        int done_count;
    };
    std::vector<Count> counts = {{Op::reduce, record.reduces}, {Op::step, record.updates}};
    if (programs.shape.has_speculative_updates) counts.push_back({Op::validate, record.validations});
    for (const auto& [op, done_count] : counts) {
        if (done_count == programs.shape.steps) continue;
        return Fault{team, programs.program_length(team),
                     cat("team ", team, " holds stage ", record.stage, ", but its program of ",
                         programs.format_length(team), " has ",
                         describe_count(Instruction{op, record.stage}, done_count, programs.shape.steps))};
    }
    return std::nullopt;
}

// Calls `find_fault` for each stage and micro-batch until a call returns a fault. Returns this fault.
template <class Function>
OptionalFault find_first_fault(const PipelineShape& shape, const Function& find_fault) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (int microbatch = 0; microbatch < shape.count_microbatches(); ++microbatch) {
            if (OptionalFault fault = find_fault(stage, microbatch)) return fault;
        }
    }
    return std::nullopt;
}

OptionalFault find_missing_sends(const RecordedPrograms& programs) {
    const int last_stage = programs.shape.stages() - 1;
    return find_first_fault(programs.shape, [&](int stage, int microbatch) -> OptionalFault {
        OptionalFault fault;
        if (stage < last_stage) fault = find_missing_send(programs, {Op::send_forward, stage, microbatch});
        if (!fault && stage > 0 && programs.shape.trains(stage - 1)) {
            fault = find_missing_send(programs, {Op::send_backward, stage, microbatch});
        }
        return fault;
    });
}

OptionalFault find_missing_collectives(const RecordedPrograms& programs) {
    for (int team = 0; team < programs.shape.teams; ++team) {
        for (const StageRecord& record : programs.done.stage_records(team)) {
            if (!programs.shape.trains(record.stage)) continue;
            if (OptionalFault fault = find_missing_collective(programs, team, record)) return fault;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Fault> find_missing_work(const std::vector<Program>& all_programs, const PipelineShape& shape,
                                       const WorkRecord& done) {
    const RecordedPrograms programs = {all_programs, shape, done};
    OptionalFault fault = find_first_fault(
        shape, [&](int stage, int microbatch) { return find_missing_compute(programs, stage, microbatch); });
    if (!fault) fault = find_missing_sends(programs);
    if (!fault) fault = find_missing_collectives(programs);
    return fault;
}

}  // namespace trireme::schedule
