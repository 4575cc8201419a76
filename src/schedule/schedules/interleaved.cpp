#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// Returns the number of micro-batches in a group. All micro-batches of a group pass a chunk before any of them
// passes the next chunk. The number is the smallest with which each group, including the last one, has at least
// `pipe` micro-batches. If there are fewer than `pipe` micro-batches, they form one group. A team would finish
// a smaller group before the first micro-batch of the group arrives at the team's next chunk. The team would
// have to wait, and some orders with smaller groups deadlock.
int choose_group_size(int pipe, int microbatches) {
    if (microbatches <= pipe) return microbatches;
    int size = pipe;
    while (microbatches % size != 0 && microbatches % size < pipe) ++size;
    return size;
}

// Returns the program of the team at `position` in a pipeline replica.
Program make_interleaved_program(const ReplicaGrid& grid, int replica, int position) {
    const int group_size = choose_group_size(grid.pipe, grid.microbatches_each);
    Program forwards;
    Program backwards;
    for (int begin = 0; begin < grid.microbatches_each; begin += group_size) {
        const int end = std::min(begin + group_size, grid.microbatches_each);
        for (int chunk = 0; chunk < grid.chunks; ++chunk) {
            for (int m = begin; m < end; ++m) {
                const int microbatch = replica * grid.microbatches_each + m;
                forwards.push_back({Op::forward, chunk * grid.pipe + position, microbatch});
                backwards.push_back(
                    {Op::backward, (grid.chunks - 1 - chunk) * grid.pipe + position, microbatch});
            }
        }
    }
    const int teams_after = grid.pipe - 1 - position;
    // With several chunks, the warm-up is that of Narayanan et al. (SC 2021): one group of forwards for each
    // chunk except the last, and two forwards for each later team. With one chunk the schedule is 1F1B, whose
    // warm-up has one forward for each later team.
    const int warm_up = grid.chunks == 1 ? teams_after : 2 * teams_after + (grid.chunks - 1) * group_size;
    return alternate(forwards, backwards, static_cast<std::size_t>(warm_up));
}

}  // namespace

// 1F1B over the chunks of a team (Narayanan et al., SC 2021): the idle time is that of 1F1B divided by the
// number of chunks. Example with 2 teams, 2 chunks per team and 4 micro-batches; the last instructions are
// omitted. 2F0 and 2B0 are the forward and the backward of micro-batch 0 in stage 2. A backward takes two units
// of time; its second unit is shown as two dots.
//
//   team 0   0F0 0F1 2F0 2F1 0F2     2B0 ..  0F3 2B1 ..  2F2 0B0 ..  2F3 0B1 ..      2B2 ..      2B3 ..
//   team 1       1F0 1F1 3F0 3B0 ..  3F1 3B1 ..  1F2 1B0 ..  1F3 1B1 ..  3F2 3B2 ..  3F3 3B3 ..  1B2 ..
std::vector<Program> make_interleaved_programs(const ScheduleInput& input) {
    const ReplicaGrid& grid = input.grid;
    std::vector<Program> programs;
    for (int replica = 0; replica < grid.replicas; ++replica) {
        for (int position = 0; position < grid.pipe; ++position) {
            programs.push_back(make_interleaved_program(grid, replica, position));
        }
    }
    return programs;
}

}  // namespace trireme::schedule
