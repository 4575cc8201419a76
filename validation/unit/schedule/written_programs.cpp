#include "unit/schedule/written_programs.hpp"

#include <map>
#include <utility>

#include "unit/schedule/validated_programs.hpp"

namespace trireme::schedule::written {

bool is_collective(Op op) { return op == Op::reduce || op == Op::step || op == Op::validate; }
bool is_forward_direction(Op op) {
    return op == Op::forward || op == Op::send_forward || op == Op::receive_forward;
}

int other_stage(const Instruction& instruction) {
    const bool is_up = is_forward_direction(instruction.op) != is_receive(instruction.op);
    return instruction.stage + (is_up ? 1 : -1);
}

bool has_stage(const PipelineShape& shape, int stage) { return stage >= 0 && stage < shape.stages(); }

bool only_runs_forward(const PipelineShape& shape, int stage) {
    return has_stage(shape, stage) && (!shape.is_training || stage < shape.first_trained_stage);
}

Channel find_channel(const Instruction& instruction, int team, const PipelineShape& shape) {
    const int peer = shape.find_executor(other_stage(instruction), instruction.microbatch);
    const bool comes_in = is_receive(instruction.op);
    return {comes_in ? peer : team, comes_in ? team : peer, is_forward_direction(instruction.op)};
}

Program numbered(const Program& program) {
    Program result = program;
    std::map<std::pair<Op, int>, int> counts;
    for (Instruction& instruction : result) {
        if (is_collective(instruction.op)) {
            instruction.microbatch = counts[{instruction.op, instruction.stage}]++;
        }
    }
    return result;
}

namespace {

// Returns why this instruction is invalid anywhere in this team's program; empty if it is valid.
std::string objection_to(const Instruction& instruction, int team, const PipelineShape& shape) {
    const std::string name = to_string(instruction) + " of team " + std::to_string(team);
    if (!has_stage(shape, instruction.stage)) return name + ": no such stage";
    if (instruction.age < 0 || (instruction.age > 0 && !is_compute(instruction.op)))
        return name + ": no such age";
    if (only_runs_forward(shape, instruction.stage) &&
        (is_collective(instruction.op) || !is_forward_direction(instruction.op))) {
        return name + ": forward only";
    }
    if (instruction.op == Op::validate && !shape.has_speculative_updates)
        return name + ": nothing is validated";
    if (is_collective(instruction.op)) {
        if (instruction.microbatch != no_microbatch) return name + ": has a micro-batch";
        return shape.is_holder(team, instruction.stage) ? "" : name + ": does not hold the stage";
    }
    const int microbatch = instruction.microbatch;
    if (microbatch < 0 || microbatch >= shape.count_microbatches()) return name + ": no such micro-batch";
    if (shape.find_executor(instruction.stage, microbatch) != team) return name + ": is not the executor";
    if (is_compute(instruction.op)) return "";
    const int other = other_stage(instruction);
    if (!has_stage(shape, other)) return name + ": no team holds the other end";
    if (!is_forward_direction(instruction.op) && only_runs_forward(shape, other))
        return name + ": a gradient for a frozen stage";
    return shape.find_executor(other, microbatch) == team ? name + ": a message to the same team" : "";
}

std::string objection_to_each(const std::vector<Program>& programs, const PipelineShape& shape) {
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (const Instruction& instruction : programs[team]) {
            std::string objection = objection_to(instruction, static_cast<int>(team), shape);
            if (!objection.empty()) return objection;
        }
    }
    return "";
}

std::string find_positions(const std::vector<Program>& programs, const PipelineShape& shape,
                           Positions& positions) {
    for (std::size_t team = 0; team < programs.size(); ++team) {
        const Program program = numbered(programs[team]);
        for (std::size_t at = 0; at < program.size(); ++at) {
            const Instruction& instruction = program[at];
            const int who = static_cast<int>(team);
            if (is_collective(instruction.op) && instruction.microbatch >= shape.steps) {
                return "team " + std::to_string(who) + " has more " + to_string(instruction) + " than steps";
            }
            if (positions.has(who, instruction)) return to_string(instruction) + " occurs twice";
            positions.of(who, instruction) = at;
        }
    }
    return "";
}

std::string objection_to_work(const Positions& positions, const PipelineShape& shape) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (int microbatch = 0; microbatch < shape.count_microbatches(); ++microbatch) {
            const int team = shape.find_executor(stage, microbatch);
            const auto has = [&](Op op) { return positions.has(team, {op, stage, microbatch}); };
            const std::string name = std::to_string(stage) + " of micro-batch " + std::to_string(microbatch);
            if (!has(Op::forward)) return "no forward of stage " + name;
            if (only_runs_forward(shape, stage)) continue;
            const bool has_halves = has(Op::backward_input) && has(Op::backward_weight);
            const bool has_any_half = has(Op::backward_input) || has(Op::backward_weight);
            if (has(Op::backward) ? has_any_half : !has_halves) return "not one backward of stage " + name;
        }
    }
    return "";
}

std::string objection_to_collectives(const Positions& positions, const PipelineShape& shape) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        if (only_runs_forward(shape, stage)) continue;
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            for (const Op op : {Op::reduce, Op::step, Op::validate}) {
                if (op == Op::validate && !shape.has_speculative_updates) continue;
                const Instruction last{op, stage, shape.steps - 1};
                if (!positions.has(team, last))
                    return "too few " + to_string(last) + " of team " + std::to_string(team);
            }
        }
    }
    return "";
}

// Returns the team's REDUCEs of stages that `other` also holds, from the first step to the last.
Program common_reduces(const Program& program, int other, const PipelineShape& shape) {
    Program common;
    for (const Instruction& instruction : program) {
        if (instruction.op == Op::reduce && shape.is_holder(other, instruction.stage))
            common.push_back(instruction);
    }
    return common;
}

std::string objection_to_reduce_order(const std::vector<Program>& programs, const PipelineShape& shape) {
    for (int one = 0; one < shape.teams; ++one) {
        for (int other = 0; other < one; ++other) {
            const Program& of_one = programs[static_cast<std::size_t>(one)];
            const Program& of_other = programs[static_cast<std::size_t>(other)];
            if (common_reduces(of_one, other, shape) != common_reduces(of_other, one, shape)) {
                return "teams reduce common stages in different orders";
            }
        }
    }
    return "";
}

}  // namespace

// The k-th send of a channel meets its k-th receive in any order of execution, because each end is one program.
std::string find_pair_objection(const std::vector<Program>& programs, const PipelineShape& shape) {
    std::map<Channel, std::pair<Program, Program>> channels;  // sends, and receives
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (const Instruction& instruction : programs[team]) {
            if (is_compute(instruction.op) || is_collective(instruction.op)) continue;
            auto& [sent, received] = channels[find_channel(instruction, static_cast<int>(team), shape)];
            (is_send(instruction.op) ? sent : received).push_back(instruction);
        }
    }
    for (const auto& [channel, ends] : channels) {
        const auto& [sent, received] = ends;
        if (sent.size() != received.size()) return "a message lacks one of its ends";
        for (std::size_t k = 0; k < sent.size(); ++k) {
            const bool is_same_message =
                other_stage(sent[k]) == received[k].stage && sent[k].microbatch == received[k].microbatch;
            if (!is_same_message) return to_string(sent[k]) + " meets " + to_string(received[k]);
        }
    }
    return "";
}

std::string find_static_objection(const std::vector<Program>& programs, const PipelineShape& shape,
                                  Positions& positions) {
    std::string objection = objection_to_each(programs, shape);
    if (objection.empty()) objection = find_positions(programs, shape, positions);
    if (objection.empty()) objection = objection_to_work(positions, shape);
    if (objection.empty()) objection = objection_to_collectives(positions, shape);
    if (objection.empty()) objection = objection_to_reduce_order(programs, shape);
    if (objection.empty()) objection = find_pair_objection(programs, shape);
    if (objection.empty() && shape.has_speculative_updates)
        objection = find_validation_objection(programs, shape);
    return objection;
}

}  // namespace trireme::schedule::written
