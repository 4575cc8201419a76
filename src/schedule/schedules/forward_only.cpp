#include <algorithm>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// Returns the program of the team at `position` in a pipeline replica. Micro-batches pass the chunks in groups
// of `pipe` micro-batches. The first team finishes its forwards of a group in one chunk when the last team
// sends the first activation of the group for the next chunk. With larger groups and one slot per channel, the
// last team would wait until the first team has read the previous message.
Program make_forward_program(const ReplicaGrid& grid, int replica, int position) {
    Program program;
    for (int begin = 0; begin < grid.microbatches_each; begin += grid.pipe) {
        const int end = std::min(begin + grid.pipe, grid.microbatches_each);
        for (int chunk = 0; chunk < grid.chunks; ++chunk) {
            for (int m = begin; m < end; ++m) {
                program.push_back(
                    {Op::forward, chunk * grid.pipe + position, replica * grid.microbatches_each + m});
            }
        }
    }
    return program;
}

// Returns the program of the team at `position` in a pipeline replica. The team begins with two forwards of its
// first stage for each later team of the replica. After one more forward of the first stage, the team's first
// micro-batch has returned from the later teams. From then on, forwards of the team's second and first stage
// alternate.
Program make_v_forward_program(const ReplicaGrid& grid, int replica, int position) {
    Program first_stage_forwards;
    Program second_stage_forwards;
    for (int m = 0; m < grid.microbatches_each; ++m) {
        const int microbatch = replica * grid.microbatches_each + m;
        first_stage_forwards.push_back({Op::forward, position, microbatch});
        second_stage_forwards.push_back({Op::forward, 2 * grid.pipe - 1 - position, microbatch});
    }
    const auto teams_after = static_cast<std::size_t>(grid.pipe - 1 - position);
    return alternate(first_stage_forwards, second_stage_forwards, 2 * teams_after);
}

}  // namespace

// Example with 2 teams of one stage each and 3 micro-batches. F1 is the forward of micro-batch 1.
//
//   stage 0   F0 F1 F2
//   stage 1      F0 F1 F2
std::vector<Program> make_forwards(const std::vector<TeamWork>& work) {
    std::vector<Program> programs;
    for (const TeamWork& team : work) {
        Program& program = programs.emplace_back();
        for (const int m : team.microbatches) program.push_back({Op::forward, team.stage, m});
    }
    return programs;
}

// Example with 2 teams, 2 chunks per team and 4 micro-batches. 2F0 is the forward of micro-batch 0 in stage 2.
//
//   team 0   0F0 0F1 2F0 2F1 0F2 0F3 2F2 2F3
//   team 1       1F0 1F1 3F0 3F1 1F2 1F3 3F2 3F3
std::vector<Program> make_forwards(const ReplicaGrid& grid) {
    std::vector<Program> programs;
    for (int replica = 0; replica < grid.replicas; ++replica) {
        for (int position = 0; position < grid.pipe; ++position) {
            programs.push_back(make_forward_program(grid, replica, position));
        }
    }
    return programs;
}

// Example with 2 teams and 4 micro-batches. 2F0 is the forward of micro-batch 0 in stage 2.
//
//   team 0   0F0 0F1 0F2 3F0 0F3 3F1     3F2     3F3
//   team 1       1F0 2F0 1F1 2F1 1F2 2F2 1F3 2F3
std::vector<Program> make_v_forwards(const ReplicaGrid& grid) {
    std::vector<Program> programs;
    for (int replica = 0; replica < grid.replicas; ++replica) {
        for (int position = 0; position < grid.pipe; ++position)
            programs.push_back(make_v_forward_program(grid, replica, position));
    }
    return programs;
}

}  // namespace trireme::schedule
