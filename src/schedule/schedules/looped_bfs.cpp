#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// Returns the program of the team at `position` in a pipeline replica.
Program make_looped_program(const ReplicaGrid& grid, int replica, int position) {
    const int begin = replica * grid.microbatches_each;
    const int end = begin + grid.microbatches_each;
    Program program;
    for (int chunk = 0; chunk < grid.chunks; ++chunk) {
        for (int m = begin; m < end; ++m) program.push_back({Op::forward, chunk * grid.pipe + position, m});
    }
    for (int chunk = grid.chunks - 1; chunk >= 0; --chunk) {
        for (int m = end - 1; m >= begin; --m) {
            program.push_back({Op::backward, chunk * grid.pipe + position, m});
        }
    }
    return program;
}

}  // namespace

// Breadth first (Lamy-Poirier, 2022): all micro-batches pass a chunk before any of them passes the next chunk.
// So the gradients of chunk c can be reduced during the backwards of chunk c - 1. Example with 2 teams,
// 2 chunks per team and 2 micro-batches. 2F0 and 2B0 are the forward and the backward of micro-batch 0 in
// stage 2. A backward takes two units of time; its second unit is shown as two dots.
//
//   team 0   0F0 0F1 2F0 2F1             2B1 ..  2B0 ..  0B1 ..  0B0 ..
//   team 1       1F0 1F1 3F0 3F1 3B1 ..  3B0 ..  1B1 ..  1B0 ..
std::vector<Program> make_looped_bfs_programs(const ScheduleInput& input) {
    const ReplicaGrid& grid = input.grid;
    std::vector<Program> programs;
    for (int replica = 0; replica < grid.replicas; ++replica) {
        for (int position = 0; position < grid.pipe; ++position) {
            programs.push_back(make_looped_program(grid, replica, position));
        }
    }
    return programs;
}

}  // namespace trireme::schedule
