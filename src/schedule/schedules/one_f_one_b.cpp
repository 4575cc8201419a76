#include <algorithm>
#include <utility>

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

// Returns the least warm-up of a team: the number of forwards before the team executes forwards and backwards
// in turns. See find_warm_ups() for `next_forward`.
std::size_t count_warm_up(const std::vector<int>& microbatches, const std::vector<int>& next_forward) {
    std::size_t warm_up = 0;
    for (std::size_t i = 0; i < microbatches.size(); ++i) {
        const int needed_microbatch = next_forward[static_cast<std::size_t>(microbatches[i])];
        warm_up = std::max(warm_up, count_microbatches_ahead(microbatches, i, needed_microbatch));
    }
    return warm_up;
}

// Returns the warm-up of each team, in forwards. It is at least the team's entry in `min_warm_ups`. It is
// derived from the last stage, whose warm-up is `min_warm_ups`, to the first.
//
// next_forward[m] is the highest micro-batch whose forward directly follows the backward of micro-batch m in
// any later stage. In addition, next_forward[m] is at least next_forward[m - 1]. A team executes its forwards
// up to next_forward[m] before the backward of m.
std::vector<std::size_t> find_warm_ups(const PipelineShape& shape, const std::vector<TeamWork>& work,
                                       std::vector<std::size_t> min_warm_ups) {
    std::vector<std::size_t> warm_ups = std::move(min_warm_ups);
    // Per micro-batch: next_forward for the stages after `stage`; 0 for the last stage.
    std::vector<int> next_forward(static_cast<std::size_t>(shape.count_microbatches()), 0);
    for (int stage = shape.stages() - 1; stage >= 0; --stage) {
        std::vector<int> next_forward_from_stage = next_forward;  // for `stage` and later stages
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            const std::vector<int>& microbatches = work[static_cast<std::size_t>(team)].microbatches;
            std::size_t& warm_up = warm_ups[static_cast<std::size_t>(team)];
            warm_up = std::max(warm_up, count_warm_up(microbatches, next_forward));
            for (std::size_t i = 0; i < microbatches.size(); ++i) {
                int& next = next_forward_from_stage[static_cast<std::size_t>(microbatches[i])];
                next = std::max(next, microbatches[std::min(i + warm_up + 1, microbatches.size() - 1)]);
            }
        }
        for (std::size_t m = 1; m < next_forward_from_stage.size(); ++m) {
            next_forward_from_stage[m] = std::max(next_forward_from_stage[m], next_forward_from_stage[m - 1]);
        }
        next_forward = std::move(next_forward_from_stage);
    }
    return warm_ups;
}

// Adds the extra forwards of the shape to the warm-ups of 1F1B.
std::vector<std::size_t> add_extra_forwards(const PipelineShape& shape, const std::vector<TeamWork>& work,
                                            std::vector<std::size_t> warm_ups) {
    if (shape.extra_forwards.empty()) return warm_ups;
    for (std::size_t stage = 0; stage < shape.holders.size(); ++stage) {
        for (const int team : shape.holders[stage])
            warm_ups[static_cast<std::size_t>(team)] += static_cast<std::size_t>(shape.extra_forwards[stage]);
    }
    return find_warm_ups(shape, work, std::move(warm_ups));
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
// If stage s has R(s) replicas that take turns, its warm-up is w(s) = ceil((w(s+1) + 1) R(s+1) / R(s))
// forwards. With equal numbers of replicas and P stages, w(s) = P - 1 - s. Extra forwards lengthen the warm-up
// of a stage, and that of earlier stages if it would be too short.
//
// The programs cannot deadlock. Up to the backward of m, the later stages need only the forwards of
// micro-batches before next_forward[m] (see find_warm_ups()). In stage s these forwards follow only backwards
// of micro-batches before m, because next_forward[m] ascends with m.
std::vector<Program> make_1f1b_programs(const PipelineShape& shape, const std::vector<TeamWork>& work) {
    const std::vector<std::size_t> no_min_warm_ups(work.size(), 0);
    const std::vector<std::size_t> warm_ups =
        add_extra_forwards(shape, work, find_warm_ups(shape, work, no_min_warm_ups));
    std::vector<Program> programs;
    for (std::size_t team = 0; team < work.size(); ++team) {
        Program forwards;
        Program backwards;
        for (const int microbatch : work[team].microbatches) {
            forwards.push_back({Op::forward, work[team].stage, microbatch});
            backwards.push_back({Op::backward, work[team].stage, microbatch});
        }
        programs.push_back(alternate(forwards, backwards, warm_ups[team]));
    }
    return programs;
}

std::vector<Program> make_one_f_one_b_programs(const ScheduleInput& input) {
    return make_1f1b_programs(input.shape, input.work);
}

}  // namespace trireme::schedule
