#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

// ZB-H1 with twice the number of warm-up forwards (Qi et al., 2024), which needs 2 * pipe - 1 micro-batches.
// Let F, I and W be the times of a forward, an input half and a weight half. No team waits between its first
// and its last instruction if I <= F and F + I <= 2 W. The remaining idle time arises because teams begin one
// after the other and update together. In the example, a backward B in one piece takes two units of time.
//
//   stage 0   F0 F1 F2 F3 F4 B0 .. B1 .. B2 .. B3 .. B4 ..
//   stage 1      F0 F1 F2 I0 F3 I1 F4 I2 W0 I3 W1 I4 W2 W3 W4
//   stage 2         F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 W1 W2 W3 W4
std::vector<Program> make_zb_h2_programs(const ScheduleInput& input) {
    std::vector<Program> programs;
    for (const TeamWork& team : input.work) {
        const auto teams_before = static_cast<std::size_t>(team.stage);
        const std::size_t teams_after = static_cast<std::size_t>(input.grid.pipe) - 1 - teams_before;
        programs.push_back(delay_weight_halves(team, 2 * teams_after + 1, 2 * teams_before));
    }
    return programs;
}

std::optional<double> compute_zb_h2_idle_time(const PipelineSizes& sizes, const StageCost& cost) {
    if (sizes.microbatches < 2 * sizes.pipe - 1) return std::nullopt;
    const double unfilled_time = cost.forward + cost.backward_input - 2 * cost.backward_weight;
    return (sizes.pipe - 1) * std::max({0.0, unfilled_time, cost.backward_input - cost.forward});
}

}  // namespace trireme::schedule
