#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

Program looped_program(const RegularShape& grid, int row, int in_row) {
    const int first = row * grid.microbatches_each;
    const int end = first + grid.microbatches_each;
    Program program;
    for (int chunk = 0; chunk < grid.chunks; ++chunk) {
        for (int m = first; m < end; ++m) program.push_back({Op::forward, chunk * grid.pipe + in_row, m});
    }
    for (int chunk = grid.chunks - 1; chunk >= 0; --chunk) {
        for (int m = end - 1; m >= first; --m) {
            program.push_back({Op::backward, chunk * grid.pipe + in_row, m});
        }
    }
    return program;
}

}  // namespace

// Breadth first (Lamy-Poirier, 2022): all micro-batches pass a chunk before any passes the next, so that each
// chunk's gradients can be reduced during the backwards of the chunk below. Example with 2 teams and 2 chunks
// each; cells name the stage.
//
//   team 0   0F0 0F1 2F0 2F1             2B1 ..  2B0 ..  0B1 ..  0B0 ..
//   team 1       1F0 1F1 3F0 3F1 3B1 ..  3B0 ..  1B1 ..  1B0 ..
std::vector<Program> looped_bfs(const ScheduleInput& input) {
    const RegularShape& grid = input.grid;
    std::vector<Program> programs;
    for (int row = 0; row < grid.replicas; ++row) {
        for (int in_row = 0; in_row < grid.pipe; ++in_row) {
            programs.push_back(looped_program(grid, row, in_row));
        }
    }
    return programs;
}

}  // namespace trireme::schedule
