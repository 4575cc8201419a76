#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

// All forwards, then all backwards (Huang et al., 2019). The order of the backwards does not change the idle
// time. They ascend, so that the first activations stored are the first freed.
//
//   stage 0   F0 F1 F2                   B0 .. B1 .. B2 ..
//   stage 1      F0 F1 F2          B0 .. B1 .. B2 ..
//   stage 2         F0 F1 F2 B0 .. B1 .. B2 ..
std::vector<Program> gpipe(const ScheduleInput& input) {
    std::vector<Program> programs;
    for (const TeamWork& team : input.work) {
        Program& program = programs.emplace_back();
        for (const int m : team.microbatches) program.push_back({Op::forward, team.stage, m});
        for (const int m : team.microbatches) program.push_back({Op::backward, team.stage, m});
    }
    return programs;
}

// A row with fewer micro-batches than teams waits again for each further chunk.
std::optional<double> idle_of_whole_passes(const EqualRow& row, const StageCost& cost) {
    return ((row.pipe - 1) + (row.chunks - 1) * std::max(0.0, row.pipe - row.microbatches)) * cost.pass();
}

}  // namespace trireme::schedule
