#include "schedule/programs/team_work.hpp"

namespace trireme::schedule {
namespace {

// Returns the sizes of the grid that has the teams, stages and micro-batches of `shape`, and one replica per
// holder of stage 0 of `shape`. Returns nothing if there is no such grid. Does not check holders and executors.
std::optional<ReplicaGrid> derive_grid_sizes(const PipelineShape& shape) {
    const int replicas = static_cast<int>(shape.holders.front().size());
    if (replicas < 1 || shape.teams % replicas != 0 || shape.microbatches % replicas != 0) return std::nullopt;
    const int pipe = shape.teams / replicas;
    if (pipe < 1 || shape.stages() % pipe != 0) return std::nullopt;
    return ReplicaGrid{.pipe = pipe,
                       .replicas = replicas,
                       .chunks = shape.stages() / pipe,
                       .microbatches_each = shape.microbatches / replicas};
}

bool has_equal_assignment(const PipelineShape& shape, const PipelineShape& other) {
    return shape.holders == other.holders && shape.executor == other.executor;
}

}  // namespace

std::optional<std::vector<TeamWork>> find_team_work(const PipelineShape& shape) {
    std::vector<TeamWork> work(static_cast<std::size_t>(shape.teams));
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            int& held_stage = work[static_cast<std::size_t>(team)].stage;
            if (held_stage != -1) return std::nullopt;
            held_stage = stage;
        }
        for (int m = 0; m < shape.count_microbatches(); ++m) {
            work[static_cast<std::size_t>(shape.find_executor(stage, m))].microbatches.push_back(m);
        }
    }
    return work;
}

std::optional<ReplicaGrid> find_replica_grid(const PipelineShape& shape) {
    const std::optional<ReplicaGrid> grid = derive_grid_sizes(shape);
    if (!grid) return std::nullopt;
    const auto [pipe, replicas, chunks, microbatches_each] = *grid;
    return has_equal_assignment(shape, make_grid_shape(pipe, replicas, chunks, microbatches_each))
               ? grid
               : std::nullopt;
}

std::optional<ReplicaGrid> find_v_grid(const PipelineShape& shape) {
    const std::optional<ReplicaGrid> grid = derive_grid_sizes(shape);
    if (!grid) return std::nullopt;
    const auto [pipe, replicas, chunks, microbatches_each] = *grid;
    return has_equal_assignment(shape, make_v_shape(pipe, replicas, microbatches_each)) ? grid : std::nullopt;
}

}  // namespace trireme::schedule
