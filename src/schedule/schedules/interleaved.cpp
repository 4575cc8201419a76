#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// Returns the number of micro-batches that pass a chunk before the first of them passes the next. It is the
// smallest number, at least one per team of the row, with which the last group has at least one per team, too.
// A smaller group would reach its next chunk too early, and some orders of that kind are cyclic.
int group_size(int pipe, int microbatches) {
    if (microbatches <= pipe) return microbatches;
    int size = pipe;
    while (microbatches % size != 0 && microbatches % size < pipe) ++size;
    return size;
}

Program interleaved_program(const RegularShape& grid, int row, int in_row) {
    const int group = group_size(grid.pipe, grid.microbatches_each);
    Program forwards;
    Program backwards;
    for (int begin = 0; begin < grid.microbatches_each; begin += group) {
        const int end = std::min(begin + group, grid.microbatches_each);
        for (int chunk = 0; chunk < grid.chunks; ++chunk) {
            for (int m = begin; m < end; ++m) {
                const int global = row * grid.microbatches_each + m;
                forwards.push_back({Op::forward, chunk * grid.pipe + in_row, global});
                backwards.push_back({Op::backward, (grid.chunks - 1 - chunk) * grid.pipe + in_row, global});
            }
        }
    }
    const int behind = grid.pipe - 1 - in_row;
    // With one chunk a team's next forward and next backward arrive at the same time, so that half the warm-up
    // is enough.
    const int warm_up = grid.chunks == 1 ? behind : 2 * behind + (grid.chunks - 1) * group;
    return alternate(forwards, backwards, static_cast<std::size_t>(warm_up));
}

}  // namespace

// 1F1B over the chunks of a team (Narayanan et al., 2021): idle times shrink from a stage's length to a
// chunk's. Example with 2 teams and 2 chunks each, without its end; cells name the stage.
//
//   team 0   0F0 0F1 2F0 2F1 0F2     2B0 ..  0F3 2B1 ..  2F2 0B0 ..  2F3 0B1 ..      2B2 ..      2B3 ..
//   team 1       1F0 1F1 3F0 3B0 ..  3F1 3B1 ..  1F2 1B0 ..  1F3 1B1 ..  3F2 3B2 ..  3F3 3B3 ..  1B2 ..
std::vector<Program> interleaved(const ScheduleInput& input) {
    const RegularShape& grid = input.grid;
    std::vector<Program> programs;
    for (int row = 0; row < grid.replicas; ++row) {
        for (int in_row = 0; in_row < grid.pipe; ++in_row) {
            programs.push_back(interleaved_program(grid, row, in_row));
        }
    }
    return programs;
}

}  // namespace trireme::schedule
