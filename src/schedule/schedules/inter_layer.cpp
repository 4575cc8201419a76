#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

// Layers are spread over teams without overlap: one team of a row works, the others wait.
//
//   stage 0   F0          B0 .. F1          B1 ..
//   stage 1      F0 B0 ..          F1 B1 ..
std::vector<Program> inter_layer(const ScheduleInput& input) {
    std::vector<Program> programs;
    for (const TeamWork& team : input.work) {
        Program& program = programs.emplace_back();
        for (const int m : team.microbatches) {
            program.push_back({Op::forward, team.stage, m});
            program.push_back({Op::backward, team.stage, m});
        }
    }
    return programs;
}

std::optional<double> idle_of_inter_layer(const EqualRow& row, const StageCost& cost) {
    return row.microbatches * (row.pipe - 1) * cost.pass();
}

}  // namespace trireme::schedule
