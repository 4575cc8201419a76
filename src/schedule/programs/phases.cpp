#include "trireme/schedule/phases.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

// Concatenates the prologue and `steps` bodies of one team. Omits instructions for micro-batches of steps after
// the first `steps`. Also omits the last REDUCEs, STEPs and VALIDATEs of a stage, if there are more of them
// than in `steps` bodies.
class Unroller {
public:
    Unroller(const Program& body, const PipelineShape& shape, int steps)
        : microbatches_(shape.microbatches), steps_(steps) {
        for (const Instruction& instruction : body)
            if (!has_microbatch(instruction.op)) ++body_counts_[instruction.op][instruction.stage];
        program_.reserve(body.size() * static_cast<std::size_t>(steps));
    }

    // Appends `phase`, which is the body of step `step`, or the prologue. For the prologue, `step` is 0.
    void append(const Program& phase, int step) {
        for (Instruction instruction : phase) {
            if (has_microbatch(instruction.op)) instruction.microbatch += step * microbatches_;
            if (belongs_to_steps(instruction)) program_.push_back(instruction);
        }
    }
    Program take() { return std::move(program_); }

private:
    // True if the instruction belongs to the first `steps_` steps. Also counts the collectives, so this
    // function must be called once per instruction, in the order of the program.
    bool belongs_to_steps(const Instruction& instruction) {
        if (has_microbatch(instruction.op)) return instruction.microbatch < steps_ * microbatches_;
        if (!has_stage(instruction.op)) return true;
        const int count_per_body = body_counts_[instruction.op][instruction.stage];
        return collective_counts_[instruction.op][instruction.stage]++ < steps_ * count_per_body;
    }

    using Counts = std::map<Op, std::map<int, int>>;  // number of instructions, by op and stage

    int microbatches_;
    int steps_;
    Counts body_counts_;        // instructions of one body without a micro-batch
    Counts collective_counts_;  // REDUCEs, STEPs and VALIDATEs passed to belongs_to_steps()
    Program program_;
};

// Returns the end of each step: the position after its last STEP or, if the program has VALIDATEs, after its
// last VALIDATE. Empty for a program without STEPs.
std::vector<std::size_t> find_step_ends(const Program& program, std::size_t steps) {
    const bool has_validates =
        std::any_of(program.begin(), program.end(), [](const Instruction& i) { return i.op == Op::validate; });
    std::vector<std::size_t> collective_ends;  // per step and held stage: position after the STEP or VALIDATE
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (program[i].op == (has_validates ? Op::validate : Op::step)) collective_ends.push_back(i + 1);
    }
    const std::size_t held_stages = collective_ends.size() / steps;
    std::vector<std::size_t> ends;
    for (std::size_t s = 1; s <= steps && held_stages > 0; ++s)
        ends.push_back(collective_ends[s * held_stages - 1]);
    return ends;
}

Program copy_range(const Program& program, std::size_t begin, std::size_t end) {
    return {program.begin() + static_cast<std::ptrdiff_t>(begin),
            program.begin() + static_cast<std::ptrdiff_t>(end)};
}

// The first three steps of a program.
struct FirstSteps {
    Program first;  // the prologue and the first step
    Program body;   // the second step, with micro-batches renumbered as in the first step
    Program third;  // the third step, with micro-batches renumbered as in the first step
};

// Returns nothing if the program has fewer than three steps.
std::optional<FirstSteps> cut_first_steps(const Program& program, const PipelineShape& shape) {
    const std::vector<std::size_t> ends = find_step_ends(program, static_cast<std::size_t>(shape.steps));
    if (ends.size() < 3) return std::nullopt;
    return FirstSteps{
        .first = copy_range(program, 0, ends[0]),
        .body = shift_microbatches(copy_range(program, ends[0], ends[1]), -shape.microbatches),
        .third = shift_microbatches(copy_range(program, ends[1], ends[2]), -2 * shape.microbatches)};
}

// Sets all ages in a prologue to 0: before the first update, weights of any age are the initial weights.
Program clear_ages(Program program) {
    for (Instruction& instruction : program) instruction.age = 0;
    return program;
}

bool ends_with(const Program& program, const Program& end) {
    return program.size() >= end.size() &&
           std::equal(end.begin(), end.end(), program.end() - static_cast<std::ptrdiff_t>(end.size()));
}

// Returns the largest value of `find_value` over all instructions of the phases, but at least 0.
template <class Function>
int find_largest(const Phases& phases, const Function& find_value) {
    int largest = 0;
    for (const std::vector<Program>* phase : {&phases.prologue, &phases.body}) {
        for (const Program& program : *phase) {
            for (const Instruction& instruction : program) largest = std::max(largest, find_value(instruction));
        }
    }
    return largest;
}

}  // namespace

Program shift_microbatches(const Program& program, int microbatches) {
    Program shifted = program;
    for (Instruction& instruction : shifted) {
        if (has_microbatch(instruction.op)) instruction.microbatch += microbatches;
    }
    return shifted;
}

int count_look_ahead_steps(const Phases& phases, int microbatches) {
    return find_largest(phases, [&](const Instruction& i) { return i.microbatch / microbatches; });
}

bool has_prologue(const Phases& phases) {
    const auto has_work = [](const Program& program) {
        return std::ranges::any_of(program, [](const Instruction& each) { return each.op != Op::set_clock; });
    };
    return std::ranges::any_of(phases.prologue, has_work);
}

bool keeps_work_in_flight(const Phases& phases, int microbatches) {
    return count_look_ahead_steps(phases, microbatches) > 0 || has_prologue(phases);
}

int count_representative_steps(const Phases& phases, int microbatches) {
    const int max_age = find_largest(phases, [](const Instruction& i) { return i.age; });
    const int complete_bodies = std::max(keeps_work_in_flight(phases, microbatches) ? 3 : 1, max_age + 1);
    return count_look_ahead_steps(phases, microbatches) + complete_bodies;
}

Program unroll_team(int team, const Phases& phases, const PipelineShape& shape, int steps) {
    const auto t = static_cast<std::size_t>(team);
    Unroller unroller(phases.body[t], shape, steps);
    unroller.append(phases.prologue[t], 0);
    for (int step = 0; step < steps; ++step) unroller.append(phases.body[t], step);
    return unroller.take();
}

std::vector<Program> unroll(const Phases& phases, const PipelineShape& shape, int steps) {
    std::vector<Program> programs;
    for (std::size_t team = 0; team < phases.body.size(); ++team) {
        programs.push_back(unroll_team(static_cast<int>(team), phases, shape, steps));
    }
    return programs;
}

bool has_repeating_steps(const std::vector<Program>& programs, const PipelineShape& shape) {
    return std::all_of(programs.begin(), programs.end(), [&](const Program& program) {
        const std::optional<FirstSteps> first_steps = cut_first_steps(program, shape);
        return first_steps && ends_with(first_steps->first, first_steps->body) &&
               first_steps->third == first_steps->body;
    });
}

Phases fold(const std::vector<Program>& programs, const PipelineShape& shape) {
    Phases phases;
    for (std::size_t team = 0; team < programs.size(); ++team) {
        const Program& program = programs[team];
        const std::optional<FirstSteps> first_steps = cut_first_steps(program, shape);
        if (!first_steps)
            throw BugError(cat("the program of team ", team, " has fewer than three steps to fold"));
        if (!has_repeating_steps({program}, shape)) {
            throw BugError(
                cat("the program of team ", team, " does not repeat the same step: ", to_string(program)));
        }
        phases.body.push_back(first_steps->body);
        phases.prologue.push_back(clear_ages(
            copy_range(first_steps->first, 0, first_steps->first.size() - first_steps->body.size())));
    }
    return phases;
}

}  // namespace trireme::schedule
