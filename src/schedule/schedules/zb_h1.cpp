#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

Program delay_weight_halves(const TeamWork& work, std::size_t warm_up, std::size_t weight_delay) {
    const std::vector<int>& microbatches = work.microbatches;
    Program program;
    const auto add = [&](Op op, std::size_t index) {
        program.push_back({op, work.stage, microbatches[index]});
    };
    for (std::size_t i = 0; i < std::min(warm_up, microbatches.size()); ++i) add(Op::forward, i);
    for (std::size_t i = 0; i < microbatches.size(); ++i) {
        add(weight_delay == 0 ? Op::backward : Op::backward_input, i);
        if (weight_delay > 0 && i >= weight_delay) add(Op::backward_weight, i - weight_delay);
        if (i + warm_up < microbatches.size()) add(Op::forward, i + warm_up);
    }
    for (std::size_t i = microbatches.size() - std::min(weight_delay, microbatches.size());
         i < microbatches.size(); ++i) {
        add(Op::backward_weight, i);
    }
    return program;
}

// 1F1B with backwards that are split in two halves (Qi et al., 2024). The previous team waits for the input
// half only, and weight halves fill idle time. A team delays its weight halves by one micro-batch for each
// earlier team. With this delay the team stores the same number of activations as the first team. Example
// with 4 micro-batches. F, I and W are forwards, input halves and weight halves (F, B and W in the paper). B is
// a backward that is not split, and takes two units of time.
//
//   stage 0   F0 F1 F2       B0 .. F3 B1 .. B2 .. B3 ..
//   stage 1      F0 F1    I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
//   stage 2         F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
std::vector<Program> make_zb_h1_programs(const ScheduleInput& input) {
    std::vector<Program> programs;
    for (const TeamWork& team : input.work) {
        const auto teams_before = static_cast<std::size_t>(team.stage);
        const std::size_t teams_after = static_cast<std::size_t>(input.grid.pipe) - 1 - teams_before;
        programs.push_back(delay_weight_halves(team, teams_after + 1, teams_before));
    }
    return programs;
}

// Returns the idle time of a team in a step once the pipeline is full: updates are speculative, so steps
// overlap. The team has a gap of one forward and one input half for each of the P - 1 other teams. With M
// micro-batches per step, weight halves fill min(M, P) - 1 of these gaps, each for at most the time of a
// forward.
std::optional<double> compute_zb_h1_idle_time(const PipelineSizes& sizes, const StageCost& cost) {
    const double filled_time = std::min(cost.forward, cost.backward_weight);  // per gap
    const double filled_gaps = std::min(sizes.microbatches, sizes.pipe) - 1;
    return (sizes.pipe - 1) * (cost.forward + cost.backward_input) - filled_gaps * filled_time;
}

}  // namespace trireme::schedule
