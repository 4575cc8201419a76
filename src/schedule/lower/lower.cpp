#include "trireme/schedule/lower.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "schedule/programs/equal_replicas.hpp"
#include "schedule/programs/instruction_queries.hpp"
#include "schedule/programs/step_starts.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"

namespace trireme::schedule {
namespace {

// Source team, destination team, and receive_forward or receive_backward.
using ChannelKey = std::tuple<int, int, Op>;

// Positions of the compute instructions of one team. The key is the (op, stage, micro-batch) of the receive
// whose tensor the instruction reads.
using Readers = std::map<std::tuple<Op, int, int>, std::size_t>;

// A receive to be inserted into a program. Positions are counted in the program without receives.
struct ReceiveInsertion {
    std::size_t position = 0;  // the receive is inserted before this position
    // The last position at which an instruction reads the tensor of this receive, or of an earlier receive of
    // the same channel.
    std::size_t last_reader_position = 0;
    Instruction receive;
};

bool computes_input_gradient(Op op) { return op == Op::backward || op == Op::backward_input; }

bool is_message(Op op) { return is_send(op) || is_receive(op); }

// Returns the send of the result of an instruction of `team`; empty if no other team reads the result. Also
// empty if the shape lacks the instruction's stage or micro-batch, as in a faulty program from a file.
std::optional<Instruction> find_result_send(const Instruction& compute_instruction, int team,
                                            const PipelineShape& shape) {
    const bool is_forward = compute_instruction.op == Op::forward;
    if (!is_forward && !computes_input_gradient(compute_instruction.op)) return std::nullopt;
    const int reader_stage = is_forward ? compute_instruction.stage + 1 : compute_instruction.stage - 1;
    const bool has_both_stages = compute_instruction.stage >= 0 && compute_instruction.stage < shape.stages() &&
                                 reader_stage >= 0 && reader_stage < shape.stages();
    if (!has_both_stages || compute_instruction.microbatch < 0 ||
        compute_instruction.microbatch >= shape.count_microbatches())
        return std::nullopt;
    if (!is_forward && !shape.trains(reader_stage)) return std::nullopt;
    if (shape.find_executor(reader_stage, compute_instruction.microbatch) == team) return std::nullopt;
    return Instruction{is_forward ? Op::send_forward : Op::send_backward, compute_instruction.stage,
                       compute_instruction.microbatch};
}

// Adds the sends to a program of compute instructions, REDUCEs, STEPs and VALIDATEs. A send follows the compute
// instruction whose result it carries. If this instruction runs ahead of the VALIDATEs, and the instruction
// that reads the result does not, the send follows the VALIDATEs.
Program insert_sends(const Program& program, int team, const StepStarts& starts, const PipelineShape& shape) {
    const std::vector<StepStart> starts_in_program = starts.find_starts(program);
    std::map<std::size_t, Program> deferred_sends;  // by the position before which they are inserted
    Program result;
    for (std::size_t i = 0; i <= program.size(); ++i) {
        if (const auto sends = deferred_sends.find(i); sends != deferred_sends.end()) {
            result.insert(result.end(), sends->second.begin(), sends->second.end());
        }
        if (i == program.size()) break;
        result.push_back(program[i]);
        const std::optional<Instruction> send = find_result_send(program[i], team, shape);
        if (!send) continue;
        const Instruction reader{Op::forward, send->stage + 1, send->microbatch};
        const std::size_t after_validates =
            starts_in_program[static_cast<std::size_t>(shape.find_step(send->microbatch))].after_validates;
        const bool is_deferred =
            starts.runs_ahead(program[i]) && !starts.runs_ahead(reader) && after_validates > i;
        (is_deferred ? deferred_sends[after_validates] : result).push_back(*send);
    }
    return result;
}

Readers index_readers(const Program& program) {
    Readers readers;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const auto [op, stage, microbatch, age, mhz] = program[i];
        if (op == Op::forward) readers.try_emplace({Op::receive_forward, stage, microbatch}, i);
        if (computes_input_gradient(op)) readers.try_emplace({Op::receive_backward, stage, microbatch}, i);
    }
    return readers;
}

// Returns the receives of each channel, in the order of the sends.
std::map<ChannelKey, Program> collect_receives(const std::vector<Program>& programs,
                                               const PipelineShape& shape) {
    std::map<ChannelKey, Program> receives;
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (const Instruction& send : programs[team]) {
            if (!is_send(send.op)) continue;
            const Instruction receive = find_receive(send);
            receives[{static_cast<int>(team), find_peer(send, shape), receive.op}].push_back(receive);
        }
    }
    return receives;
}

// Computes the positions of receives in a program that already has its sends.
class ReceivePlacement {
public:
    ReceivePlacement(const Program& program, const StepStarts& starts, const PipelineShape& shape)
        : program_(program),
          starts_(starts),
          shape_(shape),
          readers_(index_readers(program)),
          starts_in_program_(starts.find_starts(program)) {}

    // Returns the receives of one channel with their positions. A receive takes the slot of the receive that
    // comes `slots` earlier in the channel, and stands after the reader of that receive. If no instruction
    // reads the earlier receive, the later one stands at the end of the program.
    std::vector<ReceiveInsertion> plan_insertions(const Program& receives) const {
        const auto slots = static_cast<std::size_t>(shape_.slots);
        std::vector<ReceiveInsertion> insertions;
        ReceiveInsertion insertion;
        for (std::size_t k = 0; k < receives.size(); ++k) {
            if (k >= slots)
                insertion.position = std::max(
                    insertion.position, find_position_after_sends(find_reader_position(receives[k - slots])));
            insertion.position = std::max(insertion.position, find_earliest_position(receives[k]));
            insertion.last_reader_position =
                std::max(insertion.last_reader_position, find_reader_position(receives[k]));
            insertion.receive = receives[k];
            insertions.push_back(insertion);
        }
        return insertions;
    }

private:
    // Returns the length of the program if no instruction reads the receive.
    std::size_t find_reader_position(const Instruction& receive) const {
        const auto reader = readers_.find({receive.op, receive.stage, receive.microbatch});
        return reader == readers_.end() ? program_.size() : reader->second;
    }

    // Returns the position after an instruction and the sends that directly follow it.
    std::size_t find_position_after_sends(std::size_t instruction_position) const {
        std::size_t position = std::min(instruction_position + 1, program_.size());
        while (position < program_.size() && is_send(program_[position].op)) ++position;
        return position;
    }

    // Returns the position after the STEPs or VALIDATEs that the reader of the receive must follow.
    std::size_t find_earliest_position(const Instruction& receive) const {
        const StepStart& start =
            starts_in_program_[static_cast<std::size_t>(shape_.find_step(receive.microbatch))];
        const Instruction reader{Op::forward, receive.stage, receive.microbatch};
        const bool runs_ahead = receive.op == Op::receive_forward && starts_.runs_ahead(reader);
        return runs_ahead ? start.after_steps : start.after_validates;
    }

    const Program& program_;
    const StepStarts& starts_;
    const PipelineShape& shape_;
    Readers readers_;
    std::vector<StepStart> starts_in_program_;  // per step
};

Program insert_receives(const Program& program, std::vector<ReceiveInsertion> insertions) {
    // Neither of the two sort keys decreases along a channel, and a stable sort does not exchange receives with
    // equal keys. So the receives of a channel keep their order.
    std::stable_sort(
        insertions.begin(), insertions.end(), [](const ReceiveInsertion& a, const ReceiveInsertion& b) {
            return std::tie(a.position, a.last_reader_position) < std::tie(b.position, b.last_reader_position);
        });
    Program result;
    auto insertion = insertions.begin();
    for (std::size_t i = 0; i <= program.size(); ++i) {
        for (; insertion != insertions.end() && insertion->position == i; ++insertion)
            result.push_back(insertion->receive);
        if (i < program.size()) result.push_back(program[i]);
    }
    return result;
}

void add_messages(std::vector<Program>& programs, const PipelineShape& shape) {
    const StepStarts starts(programs, shape);
    for (std::size_t team = 0; team < programs.size(); ++team) {
        programs[team] = insert_sends(programs[team], static_cast<int>(team), starts, shape);
    }
    std::vector<ReceivePlacement> placements;
    for (const Program& program : programs) placements.emplace_back(program, starts, shape);
    std::vector<std::vector<ReceiveInsertion>> insertions(programs.size());
    for (const auto& [channel, receives] : collect_receives(programs, shape)) {
        const auto destination = static_cast<std::size_t>(std::get<1>(channel));
        if (destination >= programs.size())
            continue;  // fewer programs than teams: verify_programs() reports this fault
        std::ranges::copy(placements[destination].plan_insertions(receives),
                          std::back_inserter(insertions[destination]));
    }
    for (std::size_t team = 0; team < programs.size(); ++team) {
        programs[team] = insert_receives(programs[team], std::move(insertions[team]));
    }
}

// Returns the position of the REDUCE of `stage`: after the last backward or weight half of the stage and the
// messages that directly follow it. If there is no backward, returns the position after the messages with which
// the program begins.
std::size_t find_reduce_position(const Program& program, int stage) {
    std::size_t position = 0;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const bool adds_weight_gradient = program[i].op == Op::backward || program[i].op == Op::backward_weight;
        if (adds_weight_gradient && program[i].stage == stage) position = i + 1;
    }
    while (position < program.size() && is_message(program[position].op)) ++position;
    return position;
}

// Adds the missing REDUCEs, from the last stage to the first: the order in which gradients become complete.
// Teams that hold the same stages must reduce them in the same order. This also applies to a team that executes
// no micro-batch. `held_stages` ascends.
void add_reduces(Program& program, const std::vector<int>& held_stages) {
    std::size_t position = 0;
    for (auto stage = held_stages.rbegin(); stage != held_stages.rend(); ++stage) {
        const Instruction reduce{.op = Op::reduce, .stage = *stage};
        const auto existing_reduce = std::find(program.begin(), program.end(), reduce);
        if (existing_reduce == program.end()) {
            position = std::max(position, find_reduce_position(program, *stage));
            program.insert(program.begin() + static_cast<std::ptrdiff_t>(position), reduce);
            ++position;
        } else {
            position = std::max(position, static_cast<std::size_t>(existing_reduce - program.begin()) + 1);
        }
    }
}

void add_steps(Program& program, const std::vector<int>& held_stages) {
    for (const int stage : held_stages) {
        const Instruction step{.op = Op::step, .stage = stage};
        if (std::find(program.begin(), program.end(), step) == program.end()) program.push_back(step);
    }
}

void add_collectives(std::vector<Program>& programs, const PipelineShape& shape) {
    for (std::size_t team = 0; team < programs.size(); ++team) {
        std::vector<int> held_stages;
        for (int stage = shape.first_trained_stage; stage < shape.stages(); ++stage) {
            if (shape.is_holder(static_cast<int>(team), stage)) held_stages.push_back(stage);
        }
        add_reduces(programs[team], held_stages);
        add_steps(programs[team], held_stages);
    }
}

// Returns a lower bound on the number of messages per step in any channel that has messages. The tensors that a
// team passes to itself count as messages, which can only lower the bound.
int count_min_messages(const PipelineShape& shape) {
    int min_messages = shape.microbatches;
    for (std::size_t s = 0; s + 1 < shape.executor.size(); ++s) {
        std::map<std::pair<int, int>, int> messages;  // by source team and destination team
        for (std::size_t m = 0; m < shape.executor[s].size(); ++m) {
            ++messages[{shape.executor[s][m], shape.executor[s + 1][m]}];
        }
        for (const auto& [channel_ends, count] : messages) min_messages = std::min(min_messages, count);
    }
    return min_messages;
}

bool has_messages(const Program& program) {
    return std::any_of(program.begin(), program.end(), [](const Instruction& i) { return is_message(i.op); });
}

// Returns `shape`, which describes one step, with the number of steps that fold() needs. The second and the
// third step must be complete bodies, although a receive may stand up to `slots` messages before its reader.
PipelineShape make_shape_to_fold(const Phases& compute, PipelineShape shape) {
    shape.steps =
        count_representative_steps(compute, shape.microbatches) + 1 + shape.slots / count_min_messages(shape);
    return shape;
}

void remove_frozen_steps(std::vector<Program>& programs, const PipelineShape& shape) {
    for (Program& program : programs) {
        std::erase_if(program,
                      [&](const Instruction& i) { return i.op == Op::step && !shape.trains(i.stage); });
    }
}

// Lowers the programs of many steps so that fold() can find the ends of their steps: a team that only holds
// frozen stages gets a STEP at the end of each body, which the caller must remove.
std::vector<Program> lower_with_step_ends(Phases compute, const PipelineShape& shape,
                                          const PipelineShape& shape_to_fold) {
    for (int stage = 0; stage < shape.first_trained_stage; ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            Program& body = compute.body[static_cast<std::size_t>(team)];
            if (std::ranges::find(body, Op::step, &Instruction::op) == body.end())
                body.push_back({.op = Op::step, .stage = stage});
        }
    }
    return lower(unroll(compute, shape, shape_to_fold.steps), shape_to_fold);
}

// Returns synchronous programs of one step in place of programs with VALIDATEs. The work between the STEPs and
// the VALIDATEs moves to the beginning of its own step. There it replaces the prologue, which has the same work
// for the first step.
Phases remove_validates(Phases phases, const PipelineShape& shape) {
    for (std::size_t team = 0; team < phases.body.size(); ++team) {
        Program& body = phases.body[team];
        std::erase_if(body, [](const Instruction& i) { return i.op == Op::validate; });
        const auto is_step = [](const Instruction& i) { return i.op == Op::step; };
        const auto after_steps = std::find_if(body.rbegin(), body.rend(), is_step).base();
        if (after_steps == body.begin()) continue;  // no STEP: verify_programs() reports this fault
        const Program work_ahead = shift_microbatches({after_steps, body.end()}, -shape.microbatches);
        body.erase(after_steps, body.end());
        body.insert(body.begin(), work_ahead.begin(), work_ahead.end());
        phases.prologue[team].clear();
    }
    return phases;
}

// True if the instruction belongs to the training of a frozen stage, or sends a gradient to a frozen stage.
bool trains_frozen_stage(const Instruction& instruction, const PipelineShape& shape) {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    if (op == Op::send_backward) return stage <= shape.first_trained_stage;
    const bool is_training_op =
        has_stage(op) && op != Op::forward && op != Op::send_forward && op != Op::receive_forward;
    return is_training_op && stage < shape.first_trained_stage;
}

}  // namespace

Phases remove_frozen_work(Phases phases, const PipelineShape& shape) {
    if (shape.first_trained_stage == 0) return phases;
    const auto has_validate = [](const Program& program) {
        return std::ranges::find(program, Op::validate, &Instruction::op) != program.end();
    };
    if (std::ranges::any_of(phases.body, has_validate)) phases = remove_validates(std::move(phases), shape);
    for (std::vector<Program>* phase : {&phases.prologue, &phases.body}) {
        for (Program& program : *phase) {
            std::erase_if(program, [&](const Instruction& i) { return trains_frozen_stage(i, shape); });
            for (Instruction& instruction : program) {
                if (!shape.trains(instruction.stage)) instruction.age = 0;
            }
        }
    }
    return phases;
}

std::vector<Program> lower(const std::vector<Program>& compute, const PipelineShape& shape) {
    if (shape.slots < 1) {
        throw BugError(cat("a channel with ", shape.slots, " slots carries nothing; it needs at least 1"));
    }
    if (const std::optional<FirstReplica> first_replica = find_equal_replicas(compute, shape)) {
        return FirstReplica{first_replica->replicas, first_replica->shape,
                            lower(first_replica->programs, first_replica->shape)}
            .make_all_programs();
    }
    std::vector<Program> programs = compute;
    if (std::none_of(programs.begin(), programs.end(), has_messages)) add_messages(programs, shape);
    if (shape.is_training) add_collectives(programs, shape);
    return programs;
}

Phases lower_phases(const Phases& compute, const PipelineShape& shape) {
    if (!keeps_work_in_flight(compute, shape.microbatches)) {
        return {.prologue = compute.prologue, .body = lower(compute.body, shape)};
    }
    const PipelineShape shape_to_fold = make_shape_to_fold(compute, shape);
    Phases phases = fold(lower_with_step_ends(compute, shape, shape_to_fold), shape_to_fold);
    for (std::vector<Program>* phase : {&phases.prologue, &phases.body}) remove_frozen_steps(*phase, shape);
    return phases;
}

std::string find_lowering_obstacle(const Phases& compute, const PipelineShape& shape) {
    if (!keeps_work_in_flight(compute, shape.microbatches)) return "";
    // The body of phases without a prologue has work on later steps, with micro-batch numbers that
    // verify_programs() rejects.
    if (!has_prologue(compute))
        return verify_programs(lower(compute.body, shape), shape).fault.value_or(Fault{}).what;
    const PipelineShape shape_to_fold = make_shape_to_fold(compute, shape);
    const std::vector<Program> with_step_ends = lower_with_step_ends(compute, shape, shape_to_fold);
    std::vector<Program> programs = with_step_ends;
    remove_frozen_steps(programs, shape);
    if (const Verdict verdict = verify_programs(programs, shape_to_fold); !verdict.is_proved())
        return verdict.fault->what;
    if (has_repeating_steps(with_step_ends, shape_to_fold)) return "";
    return "the steps differ once sends and receives are inserted; end each body with its STEPs or VALIDATEs, "
           "and execute the micro-batches of the first step in the same order as those of later steps";
}

std::vector<Program> extract_compute(const std::vector<Program>& programs) {
    std::vector<Program> compute(programs.size());
    for (std::size_t team = 0; team < programs.size(); ++team) {
        std::ranges::copy_if(programs[team], std::back_inserter(compute[team]),
                             [](const Instruction& i) { return is_compute(i.op); });
    }
    return compute;
}

}  // namespace trireme::schedule
