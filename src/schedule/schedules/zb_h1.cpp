#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

Program with_late_weights(const TeamWork& work, std::size_t ahead, std::size_t late) {
    const std::vector<int>& all = work.microbatches;
    Program program;
    const auto add = [&](Op op, std::size_t index) { program.push_back({op, work.stage, all[index]}); };
    for (std::size_t i = 0; i < std::min(ahead, all.size()); ++i) add(Op::forward, i);
    for (std::size_t i = 0; i < all.size(); ++i) {
        add(late == 0 ? Op::backward : Op::backward_input, i);
        if (late > 0 && i >= late) add(Op::backward_weight, i - late);
        if (i + ahead < all.size()) add(Op::forward, i + ahead);
    }
    for (std::size_t i = all.size() - std::min(late, all.size()); i < all.size(); ++i) {
        add(Op::backward_weight, i);
    }
    return program;
}

// 1F1B with backward passes in halves (Qi et al., 2024). The team before waits for the input half only, and
// weight halves fill idle time. A team delays them by as many micro-batches as teams precede it, so that it
// keeps no more activations than the first team.
//
//   stage 0   F0 F1 F2       B0 .. F3 B1 .. B2 .. B3 ..
//   stage 1      F0 F1    I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
//   stage 2         F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
std::vector<Program> zb_h1(const ScheduleInput& input) {
    std::vector<Program> programs;
    for (const TeamWork& team : input.work) {
        const auto before = static_cast<std::size_t>(team.stage);
        const std::size_t behind = static_cast<std::size_t>(input.grid.pipe) - 1 - before;
        programs.push_back(with_late_weights(team, behind + 1, before));
    }
    return programs;
}

// With fewer micro-batches than teams, fewer weight halves fill the gaps.
std::optional<double> idle_of_zb_h1(const EqualRow& row, const StageCost& cost) {
    const double hidden = std::min(cost.forward, cost.backward_weight);
    const double filled = std::min(row.microbatches, row.pipe) - 1;
    return (row.pipe - 1) * (cost.forward + cost.backward_input) - filled * hidden;
}

}  // namespace trireme::schedule
