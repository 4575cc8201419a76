#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

// ZB-H1 with twice as many forwards ahead (Qi et al., 2024), which needs 2 * pipe - 1 micro-batches. No team
// waits between its first and its last instruction if I <= F and F + I <= 2 W. The remaining idle time arises
// because teams begin one after the other and update together.
//
//   stage 0   F0 F1 F2 F3 F4 B0 .. B1 .. B2 .. B3 .. B4 ..
//   stage 1      F0 F1 F2 I0 F3 I1 F4 I2 W0 I3 W1 I4 W2 W3 W4
//   stage 2         F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 W1 W2 W3 W4
std::vector<Program> zb_h2(const ScheduleInput& input) {
    std::vector<Program> programs;
    for (const TeamWork& team : input.work) {
        const auto before = static_cast<std::size_t>(team.stage);
        const std::size_t behind = static_cast<std::size_t>(input.grid.pipe) - 1 - before;
        programs.push_back(with_late_weights(team, 2 * behind + 1, 2 * before));
    }
    return programs;
}

std::optional<double> idle_of_zb_h2(const EqualRow& row, const StageCost& cost) {
    if (row.microbatches < 2 * row.pipe - 1) return std::nullopt;
    const double unfilled = cost.forward + cost.backward_input - 2 * cost.backward_weight;
    return (row.pipe - 1) * std::max({0.0, unfilled, cost.backward_input - cost.forward});
}

}  // namespace trireme::schedule
