#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {

// Naive model parallelism: in each pipeline replica, one team works while all others wait. Example with 2
// micro-batches. A backward takes two units of time; its second unit is shown as two dots.
//
//   stage 0   F0          B0 .. F1          B1 ..
//   stage 1      F0 B0 ..          F1 B1 ..
std::vector<Program> make_inter_layer_programs(const ScheduleInput& input) {
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

std::optional<double> compute_inter_layer_idle_time(const PipelineSizes& sizes, const StageCost& cost) {
    return sizes.microbatches * (sizes.pipe - 1) * cost.compute_pass_time();
}

}  // namespace trireme::schedule
