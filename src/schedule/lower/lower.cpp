#include "trireme/schedule/lower.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "schedule/programs/equal_rows.hpp"
#include "schedule/programs/instruction_queries.hpp"
#include "schedule/programs/step_starts.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"

namespace trireme::schedule {
namespace {

using Route = std::tuple<int, int, Op>;  // source, destination, receive_forward or receive_backward

// Positions of the compute instructions of one team, by their input: (op of the receive, stage, micro-batch).
using Readers = std::map<std::tuple<Op, int, int>, std::size_t>;

// A receive to be inserted into a program. Positions are those in the program without receives.
struct Arrival {
    std::size_t place = 0;   // position before which it is inserted
    std::size_t needed = 0;  // position at which it and all earlier ones of its channel are needed
    Instruction receive;
};

bool gives_gradient(Op op) { return op == Op::backward || op == Op::backward_input; }

bool is_message(Op op) { return is_send(op) || is_receive(op); }

// Returns the send of the result of `made`, if another team needs it. Empty for instructions that do not fit
// the shape, as in a faulty program from a file.
std::optional<Instruction> send_of(const Instruction& made, int team, const PipelineShape& shape) {
    const bool is_forward = made.op == Op::forward;
    if (!is_forward && !gives_gradient(made.op)) return std::nullopt;
    const int next = is_forward ? made.stage + 1 : made.stage - 1;
    const bool is_inside = made.stage >= 0 && made.stage < shape.stages() && next >= 0 && next < shape.stages();
    if (!is_inside || made.microbatch < 0 || made.microbatch >= shape.all_microbatches()) return std::nullopt;
    if (shape.executor_of(next, made.microbatch) == team) return std::nullopt;
    return Instruction{is_forward ? Op::send_forward : Op::send_backward, made.stage, made.microbatch};
}

// A send follows the instruction that makes its result. If that runs ahead of the VALIDATEs and its reader does
// not, the send follows the VALIDATEs.
Program with_sends(const Program& program, int team, const StepStarts& starts, const PipelineShape& shape) {
    const std::vector<StepStart> of_steps = starts.of(program);
    std::map<std::size_t, Program> held_back;  // by position
    Program whole;
    for (std::size_t i = 0; i <= program.size(); ++i) {
        if (const auto sends = held_back.find(i); sends != held_back.end()) {
            whole.insert(whole.end(), sends->second.begin(), sends->second.end());
        }
        if (i == program.size()) break;
        whole.push_back(program[i]);
        const std::optional<Instruction> send = send_of(program[i], team, shape);
        if (!send) continue;
        const Instruction reader{Op::forward, send->stage + 1, send->microbatch};
        const std::size_t resumes = of_steps[static_cast<std::size_t>(shape.step_of(send->microbatch))].resumes;
        const bool waits = starts.is_ahead(program[i]) && !starts.is_ahead(reader) && resumes > i;
        (waits ? held_back[resumes] : whole).push_back(*send);
    }
    return whole;
}

Readers readers_of(const Program& program) {
    Readers readers;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const auto [op, stage, microbatch, age] = program[i];
        if (op == Op::forward) readers.try_emplace({Op::receive_forward, stage, microbatch}, i);
        if (gives_gradient(op)) readers.try_emplace({Op::receive_backward, stage, microbatch}, i);
    }
    return readers;
}

// Returns the receives of each channel, in the order of the sends.
std::map<Route, Program> receives_of(const std::vector<Program>& programs, const PipelineShape& shape) {
    std::map<Route, Program> receives;
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (const Instruction& send : programs[team]) {
            if (!is_send(send.op)) continue;
            const Instruction receive = receive_of(send);
            receives[{static_cast<int>(team), peer_of(send, shape), receive.op}].push_back(receive);
        }
    }
    return receives;
}

// Computes the positions of receives in a program that has its sends.
class Posting {
public:
    Posting(const Program& program, const StepStarts& starts, const PipelineShape& shape)
        : program_(program),
          starts_(starts),
          shape_(shape),
          readers_(readers_of(program)),
          of_steps_(starts.of(program)) {}

    // Returns the receives of one channel with their positions. One that no instruction reads is posted at the
    // end.
    std::vector<Arrival> arrivals_of(const Program& receives) const {
        const auto slots = static_cast<std::size_t>(shape_.slots);
        std::vector<Arrival> arrivals;
        Arrival arrival;
        for (std::size_t k = 0; k < receives.size(); ++k) {
            if (k >= slots) arrival.place = std::max(arrival.place, behind(reader_of(receives[k - slots])));
            arrival.place = std::max(arrival.place, earliest(receives[k]));
            arrival.needed = std::max(arrival.needed, reader_of(receives[k]));
            arrival.receive = receives[k];
            arrivals.push_back(arrival);
        }
        return arrivals;
    }

private:
    std::size_t reader_of(const Instruction& receive) const {
        const auto reader = readers_.find({receive.op, receive.stage, receive.microbatch});
        return reader == readers_.end() ? program_.size() : reader->second;
    }

    // Returns the position after an instruction and the sends that follow it.
    std::size_t behind(std::size_t at) const {
        std::size_t place = std::min(at + 1, program_.size());
        while (place < program_.size() && is_send(program_[place].op)) ++place;
        return place;
    }

    std::size_t earliest(const Instruction& receive) const {
        const StepStart& start = of_steps_[static_cast<std::size_t>(shape_.step_of(receive.microbatch))];
        const Instruction reader{Op::forward, receive.stage, receive.microbatch};
        const bool is_ahead = receive.op == Op::receive_forward && starts_.is_ahead(reader);
        return is_ahead ? start.begins : start.resumes;
    }

    const Program& program_;
    const StepStarts& starts_;
    const PipelineShape& shape_;
    Readers readers_;
    std::vector<StepStart> of_steps_;
};

Program with_receives(const Program& program, std::vector<Arrival> arrivals) {
    // A stable sort keeps the order of each channel, along which both keys ascend.
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
        return std::tie(a.place, a.needed) < std::tie(b.place, b.needed);
    });
    Program whole;
    auto arrival = arrivals.begin();
    for (std::size_t i = 0; i <= program.size(); ++i) {
        for (; arrival != arrivals.end() && arrival->place == i; ++arrival) whole.push_back(arrival->receive);
        if (i < program.size()) whole.push_back(program[i]);
    }
    return whole;
}

void add_messages(std::vector<Program>& programs, const PipelineShape& shape) {
    const StepStarts starts(programs, shape);
    for (std::size_t team = 0; team < programs.size(); ++team) {
        programs[team] = with_sends(programs[team], static_cast<int>(team), starts, shape);
    }
    std::vector<Posting> postings;
    for (const Program& program : programs) postings.emplace_back(program, starts, shape);
    std::vector<std::vector<Arrival>> arrivals(programs.size());
    for (const auto& [channel, receives] : receives_of(programs, shape)) {
        const auto destination = static_cast<std::size_t>(std::get<1>(channel));
        if (destination >= programs.size()) continue;  // fewer programs than teams: check() reports that
        std::ranges::copy(postings[destination].arrivals_of(receives),
                          std::back_inserter(arrivals[destination]));
    }
    for (std::size_t team = 0; team < programs.size(); ++team) {
        programs[team] = with_receives(programs[team], std::move(arrivals[team]));
    }
}

// Returns the position after the last backward work of `stage` and the messages that follow it.
std::size_t end_of_backward(const Program& program, int stage) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const bool is_last_half = program[i].op == Op::backward || program[i].op == Op::backward_weight;
        if (is_last_half && program[i].stage == stage) place = i + 1;
    }
    while (place < program.size() && is_message(program[place].op)) ++place;
    return place;
}

// Reduces from the last stage to the first, the order in which gradients become complete. All teams use this
// order: teams that hold several stages in common must agree on it, even if one of them executes nothing.
void add_reduces(Program& program, const std::vector<int>& held) {
    std::size_t place = 0;
    for (auto stage = held.rbegin(); stage != held.rend(); ++stage) {
        const Instruction reduce{.op = Op::reduce, .stage = *stage};
        const auto given = std::find(program.begin(), program.end(), reduce);
        if (given == program.end()) {
            place = std::max(place, end_of_backward(program, *stage));
            program.insert(program.begin() + static_cast<std::ptrdiff_t>(place), reduce);
            ++place;
        } else {
            place = std::max(place, static_cast<std::size_t>(given - program.begin()) + 1);
        }
    }
}

void add_steps(Program& program, const std::vector<int>& held) {
    for (const int stage : held) {
        const Instruction step{.op = Op::step, .stage = stage};
        if (std::find(program.begin(), program.end(), step) == program.end()) program.push_back(step);
    }
}

void add_collectives(std::vector<Program>& programs, const PipelineShape& shape) {
    for (std::size_t team = 0; team < programs.size(); ++team) {
        std::vector<int> held;
        for (int stage = 0; stage < shape.stages(); ++stage) {
            if (shape.holds(static_cast<int>(team), stage)) held.push_back(stage);
        }
        add_reduces(programs[team], held);
        add_steps(programs[team], held);
    }
}

// Returns the smallest number of messages that a used channel carries in a step.
int fewest_messages(const PipelineShape& shape) {
    int fewest = shape.microbatches;
    for (std::size_t s = 0; s + 1 < shape.executor.size(); ++s) {
        std::map<std::pair<int, int>, int> messages;  // by source and destination
        for (std::size_t m = 0; m < shape.executor[s].size(); ++m) {
            ++messages[{shape.executor[s][m], shape.executor[s + 1][m]}];
        }
        for (const auto& [ends, count] : messages) fewest = std::min(fewest, count);
    }
    return fewest;
}

bool has_messages(const Program& program) {
    return std::any_of(program.begin(), program.end(), [](const Instruction& i) { return is_message(i.op); });
}

// Returns the shape with enough steps for two complete bodies. Receives are posted up to `slots` messages
// ahead.
PipelineShape to_be_folded(const Phases& compute, PipelineShape shape) {
    shape.steps = enough_steps(compute, shape.microbatches) + 1 + shape.slots / fewest_messages(shape);
    return shape;
}

}  // namespace

std::vector<Program> lower(const std::vector<Program>& compute, const PipelineShape& shape) {
    if (shape.slots < 1) {
        throw BugError(cat("a channel with ", shape.slots, " slots carries nothing; it needs at least 1"));
    }
    if (const std::optional<FirstRow> row = first_of_equal_rows(compute, shape)) {
        return FirstRow{row->rows, row->shape, lower(row->programs, row->shape)}.programs_of_all();
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
    const PipelineShape many = to_be_folded(compute, shape);
    return folded(lower(unrolled(compute, shape, many.steps), many), many);
}

std::string obstacle_to_lowering(const Phases& compute, const PipelineShape& shape) {
    if (!keeps_work_in_flight(compute, shape.microbatches)) return "";
    // Without a prologue the work for later steps has too high micro-batch numbers, which check() reports.
    if (!has_prologue(compute)) return check(lower(compute.body, shape), shape).fault.value_or(Fault{}).what;
    const PipelineShape many = to_be_folded(compute, shape);
    const std::vector<Program> programs = lower(unrolled(compute, shape, many.steps), many);
    if (const Verdict verdict = check(programs, many); !verdict.is_proved()) return verdict.fault->what;
    if (repeat(programs, many)) return "";
    return "with their messages its steps are not all alike; end each body with its STEPs, or its VALIDATEs, "
           "and let "
           "the first step take micro-batches in the order of all others";
}

std::vector<Program> compute_only(const std::vector<Program>& programs) {
    std::vector<Program> compute(programs.size());
    for (std::size_t team = 0; team < programs.size(); ++team) {
        std::ranges::copy_if(programs[team], std::back_inserter(compute[team]),
                             [](const Instruction& i) { return is_compute(i.op); });
    }
    return compute;
}

}  // namespace trireme::schedule
