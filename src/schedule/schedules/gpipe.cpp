#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

// All forwards, then all backwards (Huang et al., 2019). The order of the backwards does not change the idle
// time. Backwards run in the order of the micro-batches, so that the activations stored first are freed first.
// Example with 3 micro-batches. A backward takes two units of time; its second unit is shown as two dots.
//
//   stage 0   F0 F1 F2                   B0 .. B1 .. B2 ..
//   stage 1      F0 F1 F2          B0 .. B1 .. B2 ..
//   stage 2         F0 F1 F2 B0 .. B1 .. B2 ..
std::vector<Program> make_gpipe_programs(const ScheduleInput& input) {
    std::vector<Program> programs;
    for (const TeamWork& team : input.work) {
        Program& program = programs.emplace_back();
        for (const int m : team.microbatches) program.push_back({Op::forward, team.stage, m});
        for (const int m : team.microbatches) program.push_back({Op::backward, team.stage, m});
    }
    return programs;
}

// Returns the idle time of a team if backwards are not split. A pass is the forward and the backward of one
// micro-batch in one stage. A team in a pipeline of P teams is idle for P - 1 passes. With M < P micro-batches,
// each chunk after the first adds P - M passes.
std::optional<double> compute_unsplit_idle_time(const PipelineSizes& sizes, const StageCost& cost) {
    return ((sizes.pipe - 1) + (sizes.chunks - 1) * std::max(0.0, sizes.pipe - sizes.microbatches)) *
           cost.compute_pass_time();
}

}  // namespace trireme::schedule
