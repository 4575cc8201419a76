#include "schedule/check/missing_work.hpp"

#include <algorithm>
#include <string>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

using Missing = std::optional<Fault>;

struct Programs {
    const std::vector<Program>& all;
    const PipelineShape& shape;
    const WorkRecord& done;

    std::size_t length(int team) const { return all[static_cast<std::size_t>(team)].size(); }

    // Returns the position of an instruction that the program of `team` has.
    std::size_t position(int team, const Instruction& instruction) const {
        const Program& program = all[static_cast<std::size_t>(team)];
        return static_cast<std::size_t>(std::find(program.begin(), program.end(), instruction) -
                                        program.begin());
    }
};

// Reports a missing compute instruction, whose possible names are `names`. If its receive is there, the fault
// is a message that no instruction reads.
Fault lacks_compute(const Programs& programs, const std::string& names, const Instruction& receive) {
    const int team = programs.shape.executor_of(receive.stage, receive.microbatch);
    if (programs.done.has_part_of(receive)) {
        const std::size_t position = programs.position(team, receive);
        return {team, position,
                cat(describe_position(programs.all, team, position),
                    ", is read by no compute instruction: ", names, " is missing")};
    }
    return {team, programs.length(team),
            cat("team ", team, " executes micro-batch ", receive.microbatch, " in stage ", receive.stage,
                ", but its program of length ", programs.length(team), " has no ", names)};
}

Missing missing_compute(const Programs& programs, int stage, int microbatch) {
    const auto lacks = [&](Op op) { return !programs.done.has_part_of({op, stage, microbatch}); };
    const auto name = [&](Op op) { return to_string(Instruction{op, stage, microbatch}); };
    if (lacks(Op::forward)) {
        return lacks_compute(programs, name(Op::forward), {Op::receive_forward, stage, microbatch});
    }
    if (!programs.shape.is_training) return std::nullopt;
    if (lacks(Op::backward_input)) {
        return lacks_compute(programs, name(Op::backward) + " or " + name(Op::backward_input),
                             {Op::receive_backward, stage, microbatch});
    }
    if (!lacks(Op::backward_weight)) return std::nullopt;
    const int team = programs.shape.executor_of(stage, microbatch);
    return Fault{team, programs.length(team),
                 cat("team ", team, " does ", name(Op::backward_input), ", but its program of length ",
                     programs.length(team), " has no ", name(Op::backward_weight))};
}

// Called after all compute instructions, and hence the receives that they read, were found.
Missing missing_send(const Programs& programs, const Instruction& send) {
    const int team = programs.shape.executor_of(send.stage, send.microbatch);
    const int peer = peer_of(send, programs.shape);
    if (peer == team || programs.done.has_part_of(send)) return std::nullopt;
    return Fault{team, programs.length(team),
                 cat(describe_position(programs.all, peer, programs.position(peer, receive_of(send))),
                     ", receives what is never sent: the program of team ", team, " has no ", to_string(send))};
}

Missing missing_collective(const Programs& programs, int team, const HeldStage& held) {
    struct Count {
        Op op;
        int number;
    };
    std::vector<Count> counts = {{Op::reduce, held.reduces}, {Op::step, held.updates}};
    if (programs.shape.validates) counts.push_back({Op::validate, held.validations});
    for (const auto& [op, number] : counts) {
        if (number == programs.shape.steps) continue;
        return Fault{team, programs.length(team),
                     cat("team ", team, " holds stage ", held.stage, ", but its program of length ",
                         programs.length(team), " has ", number == 0 ? "no " : "too few ",
                         to_string(Instruction{op, held.stage}))};
    }
    return std::nullopt;
}

template <class Find>
Missing first_over_work(const PipelineShape& shape, const Find& find) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (int microbatch = 0; microbatch < shape.all_microbatches(); ++microbatch) {
            if (Missing fault = find(stage, microbatch)) return fault;
        }
    }
    return std::nullopt;
}

Missing missing_sends(const Programs& programs) {
    const int last = programs.shape.stages() - 1;
    return first_over_work(programs.shape, [&](int stage, int microbatch) -> Missing {
        Missing fault;
        if (stage < last) fault = missing_send(programs, {Op::send_forward, stage, microbatch});
        if (!fault && stage > 0 && programs.shape.is_training) {
            fault = missing_send(programs, {Op::send_backward, stage, microbatch});
        }
        return fault;
    });
}

Missing missing_collectives(const Programs& programs) {
    for (int team = 0; team < programs.shape.teams; ++team) {
        for (const HeldStage& held : programs.done.held_by(team)) {
            if (Missing fault = missing_collective(programs, team, held)) return fault;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Fault> missing_work(const std::vector<Program>& all, const PipelineShape& shape,
                                  const WorkRecord& done) {
    const Programs programs = {all, shape, done};
    Missing fault = first_over_work(
        shape, [&](int stage, int microbatch) { return missing_compute(programs, stage, microbatch); });
    if (!fault) fault = missing_sends(programs);
    if (!fault && shape.is_training) fault = missing_collectives(programs);
    return fault;
}

}  // namespace trireme::schedule
