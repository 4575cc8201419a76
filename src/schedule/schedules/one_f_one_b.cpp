#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// Returns how many of a team's micro-batches after its `index`-th must be in flight so that all up to `last`
// are. It rounds up, so that a stage with more replicas than the next one keeps it supplied.
std::size_t ahead(const std::vector<int>& microbatches, std::size_t index, int last) {
    std::size_t end = index;
    while (end + 1 < microbatches.size() && microbatches[end] < last) ++end;
    return end - index;
}

std::size_t warm_up_of(const std::vector<int>& microbatches, const std::vector<int>& wanted) {
    std::size_t warm_up = 0;
    for (std::size_t i = 0; i < microbatches.size(); ++i) {
        const int last = wanted[static_cast<std::size_t>(microbatches[i])];
        warm_up = std::max(warm_up, ahead(microbatches, i, last));
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

// A warm-up, then one forward, one backward (Narayanan et al., 2019; Fan et al., 2021).
//
//   stage 0   F0 F1 F2             B0 .. F3 B1 ..    B2 ..    B3 ..
//   stage 1      F0 F1       B0 .. F2 B1 .. F3 B2 ..    B3 ..
//   stage 2         F0 B0 .. F1 B1 .. F2 B2 .. F3 B3 ..
//
// The warm-up w(s) is computed from the last stage, which has none, to the first. wanted[m] is the micro-batch
// whose forward the later stages request when they have done the backward of m. A team keeps enough forwards in
// flight to include it. With R(s) replicas that take turns, w(s) = ceil((w(s+1) + 1) R(s+1) / R(s)); with equal
// numbers of replicas it is P - 1 - s. No backward then waits for a forward that comes after it: from other
// stages B of m needs only forwards before wanted[m], and wanted ascends.
std::vector<Program> alternate_passes(const PipelineShape& shape, const std::vector<TeamWork>& work) {
    std::vector<Program> programs(work.size());
    std::vector<int> wanted(static_cast<std::size_t>(shape.all_microbatches()), 0);  // per micro-batch
    for (int stage = shape.stages() - 1; stage >= 0; --stage) {
        std::vector<int> wanted_here = wanted;
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            const std::vector<int>& own = work[static_cast<std::size_t>(team)].microbatches;
            const std::size_t warm_up = warm_up_of(own, wanted);
            Program forwards;
            Program backwards;
            for (std::size_t i = 0; i < own.size(); ++i) {
                forwards.push_back({Op::forward, stage, own[i]});
                backwards.push_back({Op::backward, stage, own[i]});
                int& mine = wanted_here[static_cast<std::size_t>(own[i])];
                mine = std::max(mine, own[std::min(i + warm_up + 1, own.size() - 1)]);
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

std::vector<Program> one_f_one_b(const ScheduleInput& input) {
    return alternate_passes(input.shape, input.work);
}

}  // namespace trireme::schedule
