#include "trireme/schedule/clocks.hpp"

#include <algorithm>

namespace trireme::schedule {
namespace {

bool is_clock(const Instruction& instruction) { return instruction.op == Op::set_clock; }

}  // namespace

Phases set_clocks(Phases phases, const std::function<int(int team, const Instruction& pass)>& find_mhz) {
    for (std::vector<Program>* const phase : {&phases.prologue, &phases.body}) {
        for (std::size_t team = 0; team < phase->size(); ++team) {
            Program with_clocks;
            int clock = 0;  // 0: the next pass needs a CLOCK
            for (const Instruction& instruction : (*phase)[team]) {
                if (is_clock(instruction)) continue;
                if (instruction.op == Op::step || instruction.op == Op::validate) clock = 0;
                if (is_compute(instruction.op)) {
                    const int mhz = find_mhz(static_cast<int>(team), instruction);
                    if (mhz != clock) with_clocks.push_back({.op = Op::set_clock, .mhz = mhz});
                    clock = mhz;
                }
                with_clocks.push_back(instruction);
            }
            (*phase)[team] = std::move(with_clocks);
        }
    }
    return phases;
}

bool sets_clocks(const Phases& phases) {
    const auto has_clock = [](const Program& program) { return std::ranges::any_of(program, is_clock); };
    return std::ranges::any_of(phases.prologue, has_clock) || std::ranges::any_of(phases.body, has_clock);
}

}  // namespace trireme::schedule
