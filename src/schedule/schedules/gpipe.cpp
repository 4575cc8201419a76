#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

// All forwards, then all backwards (Huang et al., 2019). The backwards ascend: in whatever order they run, the
// idle time is the same, and here the first activations stored are the first given back.
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

// A row with fewer micro-batches than teams waits once more for each further chunk.
std::optional<double> idle_of_whole_passes(const EqualRow& row, const StageCost& cost) {
    return ((row.pipe - 1) + (row.chunks - 1) * std::max(0.0, row.pipe - row.microbatches)) * cost.pass();
}

}  // namespace trireme::schedule
