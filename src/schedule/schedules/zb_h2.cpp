#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

// ZB-H1 with two warm-up forwards for each later team, not one, and with twice the delay of weight halves (Qi
// et al., 2024). Let F, I and W be the times of a forward, an input half and a weight half (F, B and W in the
// paper). No team waits between its first and its last instruction if I <= F, F + I <= 2 W, and a replica has
// at least 2 * pipe - 1 micro-batches. Example with 5 micro-batches. B is a backward that is not split, and
// takes two units of time.
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

// Returns the idle time of a team in a step once the pipeline is full. Teams begin a step one after the other,
// but do not wait for each other at its end, because updates are speculative.
std::optional<double> compute_zb_h2_idle_time(const PipelineSizes& sizes, const StageCost& cost) {
    if (sizes.microbatches < 2 * sizes.pipe - 1) return std::nullopt;
    // Idle times per other team; not positive if no idle time remains.
    const double unfilled_by_weight_halves = cost.forward + cost.backward_input - 2 * cost.backward_weight;
    const double unfilled_by_forwards = cost.backward_input - cost.forward;
    return (sizes.pipe - 1) * std::max({0.0, unfilled_by_weight_halves, unfilled_by_forwards});
}

}  // namespace trireme::schedule
