#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// `microbatches` has the micro-batches of a team, ascending. Returns the number of entries after entry `index`,
// up to and including the first entry that is at least `needed_microbatch`. If all entries are smaller, counts
// up to the last entry. If the team does not execute `needed_microbatch`, the team's next micro-batch is
// counted in place of `needed_microbatch`. So a stage with more replicas than the next stage keeps the next
// stage supplied.
std::size_t count_microbatches_ahead(const std::vector<int>& microbatches, std::size_t index,
                                     int needed_microbatch) {
    std::size_t last = index;
    while (last + 1 < microbatches.size() && microbatches[last] < needed_microbatch) ++last;
    return last - index;
}

// Returns the warm-up of a team: the number of forwards before the team executes forwards and backwards in
// turns. See make_1f1b_programs() for `next_forward`.
std::size_t count_warm_up(const std::vector<int>& microbatches, const std::vector<int>& next_forward) {
    std::size_t warm_up = 0;
    for (std::size_t i = 0; i < microbatches.size(); ++i) {
        const int needed_microbatch = next_forward[static_cast<std::size_t>(microbatches[i])];
        warm_up = std::max(warm_up, count_microbatches_ahead(microbatches, i, needed_microbatch));
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
// Example with 4 micro-batches. F0 and B0 are the forward and the backward of micro-batch 0. A backward takes
// two units of time; its second unit is shown as two dots.
//
//   stage 0   F0 F1 F2             B0 .. F3 B1 ..    B2 ..    B3 ..
//   stage 1      F0 F1       B0 .. F2 B1 .. F3 B2 ..    B3 ..
//   stage 2         F0 B0 .. F1 B1 .. F2 B2 .. F3 B3 ..
//
// The warm-up w(s) of stage s, in forwards, is computed from the last stage, whose warm-up is 0, to the first.
// next_forward[m] is the highest micro-batch whose forward directly follows the backward of micro-batch m in
// any stage after s. In addition, next_forward[m] is at least next_forward[m - 1]. A team of stage s executes
// its forwards up to next_forward[m] before the backward of m. If stage s has R(s) replicas that take turns,
// w(s) = ceil((w(s+1) + 1) R(s+1) / R(s)). With equal numbers of replicas and P stages, w(s) = P - 1 - s.
//
// The programs cannot deadlock. Up to the backward of m, the later stages need only the forwards of
// micro-batches before next_forward[m]. In stage s these forwards follow only backwards of micro-batches before
// m, because next_forward[m] ascends with m.
std::vector<Program> make_1f1b_programs(const PipelineShape& shape, const std::vector<TeamWork>& work) {
    std::vector<Program> programs(work.size());
    // Per micro-batch: next_forward as defined above, for the stages after `stage`; 0 for the last stage.
    std::vector<int> next_forward(static_cast<std::size_t>(shape.count_microbatches()), 0);
    for (int stage = shape.stages() - 1; stage >= 0; --stage) {
        std::vector<int> next_forward_from_stage = next_forward;  // for `stage` and later stages
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            const std::vector<int>& team_microbatches = work[static_cast<std::size_t>(team)].microbatches;
            const std::size_t warm_up = count_warm_up(team_microbatches, next_forward);
            Program forwards;
            Program backwards;
            for (std::size_t i = 0; i < team_microbatches.size(); ++i) {
                forwards.push_back({Op::forward, stage, team_microbatches[i]});
                backwards.push_back({Op::backward, stage, team_microbatches[i]});
                int& next = next_forward_from_stage[static_cast<std::size_t>(team_microbatches[i])];
                next =
                    std::max(next, team_microbatches[std::min(i + warm_up + 1, team_microbatches.size() - 1)]);
            }
            programs[static_cast<std::size_t>(team)] = alternate(forwards, backwards, warm_up);
        }
        for (std::size_t m = 1; m < next_forward_from_stage.size(); ++m) {
            next_forward_from_stage[m] = std::max(next_forward_from_stage[m], next_forward_from_stage[m - 1]);
        }
        next_forward = next_forward_from_stage;
    }
    return programs;
}

std::vector<Program> make_one_f_one_b_programs(const ScheduleInput& input) {
    return make_1f1b_programs(input.shape, input.work);
}

}  // namespace trireme::schedule
