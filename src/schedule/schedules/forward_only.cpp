#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// Micro-batches pass the chunks in groups of as many as the row has teams: the first team is ready for the next
// chunk of a group when the last team sends it. With larger groups and one slot, the last team would have to
// wait until the first has read its earlier message.
Program forward_program(const RegularShape& grid, int row, int in_row) {
    Program program;
    for (int begin = 0; begin < grid.microbatches_each; begin += grid.pipe) {
        const int end = std::min(begin + grid.pipe, grid.microbatches_each);
        for (int chunk = 0; chunk < grid.chunks; ++chunk) {
            for (int m = begin; m < end; ++m) {
                program.push_back({Op::forward, chunk * grid.pipe + in_row, row * grid.microbatches_each + m});
            }
        }
    }
    return program;
}

// A team runs ahead by twice as many forwards of its first stage as teams follow it in the row. A micro-batch
// returns from those teams when these forwards are done.
Program v_program(const RegularShape& v, int row, int in_row) {
    Program down;
    Program up;
    for (int i = 0; i < v.microbatches_each; ++i) {
        const int m = row * v.microbatches_each + i;
        down.push_back({Op::forward, in_row, m});
        up.push_back({Op::forward, 2 * v.pipe - 1 - in_row, m});
    }
    const auto behind = static_cast<std::size_t>(v.pipe - 1 - in_row);
    return alternate(down, up, 2 * behind);
}

}  // namespace

//   stage 0   F0 F1 F2
//   stage 1      F0 F1 F2
std::vector<Program> forwards_of(const std::vector<TeamWork>& work) {
    std::vector<Program> programs;
    for (const TeamWork& team : work) {
        Program& program = programs.emplace_back();
        for (const int m : team.microbatches) program.push_back({Op::forward, team.stage, m});
    }
    return programs;
}

// Example with 2 teams and 2 chunks each; cells name the stage.
//
//   team 0   0F0 0F1 2F0 2F1 0F2 0F3 2F2 2F3
//   team 1       1F0 1F1 3F0 3F1 1F2 1F3 3F2 3F3
std::vector<Program> forwards_of(const RegularShape& grid) {
    std::vector<Program> programs;
    for (int row = 0; row < grid.replicas; ++row) {
        for (int in_row = 0; in_row < grid.pipe; ++in_row) {
            programs.push_back(forward_program(grid, row, in_row));
        }
    }
    return programs;
}

//   team 0   0F0 0F1 0F2 3F0 0F3 3F1     3F2     3F3
//   team 1       1F0 2F0 1F1 2F1 1F2 2F2 1F3 2F3
std::vector<Program> forwards_of_v(const RegularShape& v) {
    std::vector<Program> programs;
    for (int row = 0; row < v.replicas; ++row) {
        for (int in_row = 0; in_row < v.pipe; ++in_row) programs.push_back(v_program(v, row, in_row));
    }
    return programs;
}

}  // namespace trireme::schedule
