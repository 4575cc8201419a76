#include "trireme/schedule/phases.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

// Concatenates a prologue and `steps` bodies. Omits micro-batches of later steps, and REDUCEs, STEPs and
// VALIDATEs in excess of those of `steps` bodies.
class Unrolling {
public:
    Unrolling(const Program& body, const PipelineShape& shape, int steps)
        : microbatches_(shape.microbatches), steps_(steps) {
        for (const Instruction& instruction : body) ++of_body_[instruction.op][instruction.stage];
    }

    void append(const Program& part, int step) {
        for (const Instruction& instruction : shifted(part, step * microbatches_)) {
            if (is_wanted(instruction)) program_.push_back(instruction);
        }
    }
    Program take() { return std::move(program_); }

private:
    bool is_wanted(const Instruction& instruction) {
        if (has_microbatch(instruction.op)) return instruction.microbatch < steps_ * microbatches_;
        const int each = of_body_[instruction.op][instruction.stage];
        return counts_[instruction.op][instruction.stage]++ < steps_ * each;
    }

    using Counts = std::map<Op, std::map<int, int>>;  // by stage

    int microbatches_;
    int steps_;
    Counts of_body_;
    Counts counts_;  // so far: REDUCEs, STEPs and VALIDATEs
    Program program_;
};

// Returns the end of each step: the position after its last STEP or, if the program validates, its last
// VALIDATE.
std::vector<std::size_t> ends_of_steps(const Program& program, std::size_t steps) {
    const bool validates =
        std::any_of(program.begin(), program.end(), [](const Instruction& i) { return i.op == Op::validate; });
    std::vector<std::size_t> updates;
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (program[i].op == (validates ? Op::validate : Op::step)) updates.push_back(i + 1);
    }
    const std::size_t stages = updates.size() / steps;
    std::vector<std::size_t> ends;
    for (std::size_t s = 1; s <= steps && stages > 0; ++s) ends.push_back(updates[s * stages - 1]);
    return ends;
}

Program part_of(const Program& program, std::size_t begin, std::size_t end) {
    return {program.begin() + static_cast<std::ptrdiff_t>(begin),
            program.begin() + static_cast<std::ptrdiff_t>(end)};
}

// The first three steps of a program.
struct Cut {
    Program start;  // the prologue and the first step
    Program body;   // the second step, with the micro-batch numbers of the first
    Program again;  // the third step, renumbered as well
};

std::optional<Cut> cut_into_steps(const Program& program, const PipelineShape& shape) {
    const std::vector<std::size_t> ends = ends_of_steps(program, static_cast<std::size_t>(shape.steps));
    if (ends.size() < 3) return std::nullopt;
    return Cut{.start = part_of(program, 0, ends[0]),
               .body = shifted(part_of(program, ends[0], ends[1]), -shape.microbatches),
               .again = shifted(part_of(program, ends[1], ends[2]), -2 * shape.microbatches)};
}

// Removes all ages. Before the first update they all mean the initial weights.
Program without_ages(Program program) {
    for (Instruction& instruction : program) instruction.age = 0;
    return program;
}

bool ends_with(const Program& program, const Program& end) {
    return program.size() >= end.size() &&
           std::equal(end.begin(), end.end(), program.end() - static_cast<std::ptrdiff_t>(end.size()));
}

// Returns the largest value of `number` over all instructions, but at least 0.
template <class Number>
int largest_of(const Phases& phases, const Number& number) {
    int largest = 0;
    for (const std::vector<Program>* part : {&phases.prologue, &phases.body}) {
        for (const Program& program : *part) {
            for (const Instruction& instruction : program) largest = std::max(largest, number(instruction));
        }
    }
    return largest;
}

}  // namespace

Program shifted(const Program& program, int microbatches) {
    Program moved = program;
    for (Instruction& instruction : moved) {
        if (has_microbatch(instruction.op)) instruction.microbatch += microbatches;
    }
    return moved;
}

int look_ahead(const Phases& phases, int microbatches) {
    return largest_of(phases, [&](const Instruction& i) { return i.microbatch / microbatches; });
}

bool has_prologue(const Phases& phases) {
    return std::any_of(phases.prologue.begin(), phases.prologue.end(),
                       [](const Program& program) { return !program.empty(); });
}

bool keeps_work_in_flight(const Phases& phases, int microbatches) {
    return look_ahead(phases, microbatches) > 0 || has_prologue(phases);
}

int enough_steps(const Phases& phases, int microbatches) {
    const int oldest = largest_of(phases, [](const Instruction& i) { return i.age; });
    const int whole_bodies = std::max(keeps_work_in_flight(phases, microbatches) ? 3 : 1, oldest + 1);
    return look_ahead(phases, microbatches) + whole_bodies;
}

Program unrolled_of(int team, const Phases& phases, const PipelineShape& shape, int steps) {
    const auto t = static_cast<std::size_t>(team);
    Unrolling unrolling(phases.body[t], shape, steps);
    unrolling.append(phases.prologue[t], 0);
    for (int step = 0; step < steps; ++step) unrolling.append(phases.body[t], step);
    return unrolling.take();
}

std::vector<Program> unrolled(const Phases& phases, const PipelineShape& shape, int steps) {
    std::vector<Program> programs;
    for (std::size_t team = 0; team < phases.body.size(); ++team) {
        programs.push_back(unrolled_of(static_cast<int>(team), phases, shape, steps));
    }
    return programs;
}

bool repeat(const std::vector<Program>& programs, const PipelineShape& shape) {
    return std::all_of(programs.begin(), programs.end(), [&](const Program& program) {
        const std::optional<Cut> cut = cut_into_steps(program, shape);
        return cut && ends_with(cut->start, cut->body) && cut->again == cut->body;
    });
}

Phases folded(const std::vector<Program>& programs, const PipelineShape& shape) {
    Phases phases;
    for (std::size_t team = 0; team < programs.size(); ++team) {
        const Program& program = programs[team];
        const std::optional<Cut> cut = cut_into_steps(program, shape);
        if (!cut) throw BugError(cat("the program of team ", team, " has no three steps to fold"));
        if (!repeat({program}, shape)) {
            throw BugError(cat("the program of team ", team, " does not repeat: ", to_string(program)));
        }
        phases.body.push_back(cut->body);
        phases.prologue.push_back(without_ages(part_of(cut->start, 0, cut->start.size() - cut->body.size())));
    }
    return phases;
}

}  // namespace trireme::schedule
