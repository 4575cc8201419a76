#include "unit/schedule/validated_programs.hpp"

#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "unit/schedule/written_programs.hpp"

namespace trireme::schedule::written {
namespace {

// Positions and number of the collectives of one kind and step in a program.
struct Extent {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t count = 0;

    bool is_contiguous() const { return last - first + 1 == count; }
};

class Collectives {
public:
    explicit Collectives(const Program& numbered_program) {
        for (std::size_t at = 0; at < numbered_program.size(); ++at) {
            const auto [op, stage, number, age, mhz] = numbered_program[at];
            if (!is_collective(op)) continue;
            Extent& extent = extents_[{op, number}];
            if (extent.count++ == 0) extent.first = at;
            extent.last = at;
        }
    }
    const Extent& of(Op op, int step) const { return extents_.at({op, step}); }

private:
    std::map<std::pair<Op, int>, Extent> extents_;
};

// Returns what is wrong with the order of a program's collectives; empty if nothing is.
std::string objection_to_order(const Collectives& all, int steps) {
    for (int step = 0; step < steps; ++step) {
        const Extent& updates = all.of(Op::step, step);
        const Extent& validations = all.of(Op::validate, step);
        if (!updates.is_contiguous() || !validations.is_contiguous()) return "a step is updated in parts";
        if (all.of(Op::reduce, step).last > updates.first) return "an update comes before a sum";
        if (updates.last > validations.first) return "a validation comes before its update";
        if (step == 0) continue;
        const std::size_t before = all.of(Op::validate, step - 1).last;
        if (all.of(Op::reduce, step).first < before) return "a sum comes before a validation";
    }
    return "";
}

std::string objection_to_places(const Program& program, const Collectives& all, const PipelineShape& shape) {
    for (std::size_t at = 0; at < program.size(); ++at) {
        const auto [op, stage, microbatch, age, mhz] = program[at];
        if (is_collective(op)) continue;
        if (age > 0) return to_string(program[at]) + " uses old weights";
        const int step = shape.find_step(microbatch);
        if (at > all.of(Op::step, step).first)
            return to_string(program[at]) + " comes after the update of its step";
        if (step == 0) continue;
        const Op gate = is_forward_direction(op) ? Op::step : Op::validate;
        if (at < all.of(gate, step - 1).last) return to_string(program[at]) + " comes too early";
    }
    return "";
}

// Returns the program as executed if every guess is wrong: all instructions between an update and its
// validation run twice.
Program repeat_speculative_work(const Program& program, const Collectives& all, int steps) {
    Program executed;
    std::size_t done = 0;
    const auto copy = [&](std::size_t begin, std::size_t end) {
        const auto from = program.begin();
        executed.insert(executed.end(), std::next(from, static_cast<std::ptrdiff_t>(begin)),
                        std::next(from, static_cast<std::ptrdiff_t>(end)));
    };
    for (int step = 0; step < steps; ++step) {
        const std::size_t validation = all.of(Op::validate, step).first;
        copy(done, validation);
        copy(all.of(Op::step, step).last + 1, validation);
        done = validation;
    }
    copy(done, program.size());
    return executed;
}

// Returns an objection unless every message is read before the same message arrives again.
std::string objection_to_reading(const Program& executed) {
    std::map<std::pair<int, int>, int> unread;
    for (const auto [op, stage, microbatch, age, mhz] : executed) {
        if (op == Op::receive_forward && ++unread[{stage, microbatch}] > 1)
            return "a message arrives again before it is read";
        const bool is_read = op == Op::forward && unread.contains({stage, microbatch});
        if (is_read && --unread[{stage, microbatch}] < 0) return "a message is read twice";
    }
    return "";
}

}  // namespace

std::string find_validation_objection(const std::vector<Program>& programs, const PipelineShape& shape) {
    std::vector<Program> executed;
    for (const Program& program : programs) {
        if (program.empty()) {
            executed.emplace_back();
            continue;
        }
        const Collectives all(numbered(program));
        std::string objection = objection_to_order(all, shape.steps);
        if (objection.empty()) objection = objection_to_places(program, all, shape);
        if (!objection.empty()) return objection;
        executed.push_back(repeat_speculative_work(program, all, shape.steps));
        objection = objection_to_reading(executed.back());
        if (!objection.empty()) return objection;
    }
    return find_pair_objection(executed, shape);
}

}  // namespace trireme::schedule::written
