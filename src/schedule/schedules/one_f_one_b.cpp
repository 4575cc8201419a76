#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// Returns the number of micro-batches that a team must have in flight in addition to its `index`-th one, so
// that all its micro-batches up to number `last_wanted` are in flight. If `last_wanted` is not one of them, the
// team's next micro-batch is included, so that a stage with more replicas than the next stage keeps the next
// stage supplied.
std::size_t count_microbatches_ahead(const std::vector<int>& microbatches, std::size_t index, int last_wanted) {
    std::size_t end = index;
    while (end + 1 < microbatches.size() && microbatches[end] < last_wanted) ++end;
    return end - index;
}

// Returns the number of forwards before the first backward of a team. See make_1f1b_programs() for `wanted`.
std::size_t count_warm_up(const std::vector<int>& microbatches, const std::vector<int>& wanted) {
    std::size_t warm_up = 0;
    for (std::size_t i = 0; i < microbatches.size(); ++i) {
        const int last_wanted = wanted[static_cast<std::size_t>(microbatches[i])];
        warm_up = std::max(warm_up, count_microbatches_ahead(microbatches, i, last_wanted));
    }
    return warm_up;
}

}  // namespace

Program alternate(const Program& forwards, const Program& backwards, std::size_t warm_up) {
    Program program;
    std::size_t next_backward = 0;
    for (std::size_t f = 0; f < forwards.size(); ++f) {
        program.push_back(forwards[f]);
        if (f >= warm_up) program.push_back(backwards[next_backward++]);
    }
    while (next_backward < backwards.size()) program.push_back(backwards[next_backward++]);
    return program;
}

// A warm-up of forwards, then one forward and one backward in turns (Narayanan et al., 2019; Fan et al., 2021).
// Example with 4 micro-batches: F0 and B0 are the forward and the backward of micro-batch 0. A backward takes
// two units of time; its second unit is shown as two dots.
//
//   stage 0   F0 F1 F2             B0 .. F3 B1 ..    B2 ..    B3 ..
//   stage 1      F0 F1       B0 .. F2 B1 .. F3 B2 ..    B3 ..
//   stage 2         F0 B0 .. F1 B1 .. F2 B2 .. F3 B3 ..
//
// The warm-up w(s) of stage s, in forwards, is computed from the last stage, whose warm-up is 0, to the first.
// wanted[m] is the micro-batch whose forward the later stages execute next when they have done the backward of
// micro-batch m. A team keeps enough forwards in flight to include wanted[m]. If stage s has R(s) replicas that
// take turns, w(s) = ceil((w(s+1) + 1) R(s+1) / R(s)); with equal numbers of replicas and P stages, w(s) = P -
// 1 - s. The programs cannot deadlock: in other stages the backward of m needs only the forwards before
// wanted[m], which precede that backward in their programs because wanted[m] ascends with m.
std::vector<Program> make_1f1b_programs(const PipelineShape& shape, const std::vector<TeamWork>& work) {
    std::vector<Program> programs(work.size());
    std::vector<int> wanted(static_cast<std::size_t>(shape.count_microbatches()), 0);  // per micro-batch
    for (int stage = shape.stages() - 1; stage >= 0; --stage) {
        std::vector<int> wanted_here = wanted;
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            const std::vector<int>& team_microbatches = work[static_cast<std::size_t>(team)].microbatches;
            const std::size_t warm_up = count_warm_up(team_microbatches, wanted);
            Program forwards;
            Program backwards;
            for (std::size_t i = 0; i < team_microbatches.size(); ++i) {
                forwards.push_back({Op::forward, stage, team_microbatches[i]});
                backwards.push_back({Op::backward, stage, team_microbatches[i]});
                int& wanted_next = wanted_here[static_cast<std::size_t>(team_microbatches[i])];
                wanted_next = std::max(
                    wanted_next, team_microbatches[std::min(i + warm_up + 1, team_microbatches.size() - 1)]);
            }
            programs[static_cast<std::size_t>(team)] = alternate(forwards, backwards, warm_up);
        }
        for (std::size_t m = 1; m < wanted_here.size(); ++m) {
            wanted_here[m] = std::max(wanted_here[m], wanted_here[m - 1]);
        }
        wanted = wanted_here;
    }
    return programs;
}

std::vector<Program> make_one_f_one_b_programs(const ScheduleInput& input) {
    return make_1f1b_programs(input.shape, input.work);
}

}  // namespace trireme::schedule
