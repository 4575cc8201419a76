#include "schedule/programs/team_work.hpp"

namespace trireme::schedule {
namespace {

// Derives the sizes from the numbers of teams, stages and micro-batches. Holders and executors are not checked.
std::optional<RegularShape> rows_of(const PipelineShape& shape) {
    const int replicas = static_cast<int>(shape.holders.front().size());
    if (replicas < 1 || shape.teams % replicas != 0 || shape.microbatches % replicas != 0) return std::nullopt;
    const int pipe = shape.teams / replicas;
    if (pipe < 1 || shape.stages() % pipe != 0) return std::nullopt;
    return RegularShape{.pipe = pipe,
                        .replicas = replicas,
                        .chunks = shape.stages() / pipe,
                        .microbatches_each = shape.microbatches / replicas};
}

bool is_dealt_like(const PipelineShape& shape, const PipelineShape& other) {
    return shape.holders == other.holders && shape.executor == other.executor;
}

}  // namespace

std::optional<std::vector<TeamWork>> one_stage_each(const PipelineShape& shape) {
    std::vector<TeamWork> work(static_cast<std::size_t>(shape.teams));
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            int& held = work[static_cast<std::size_t>(team)].stage;
            if (held != -1) return std::nullopt;
            held = stage;
        }
        for (int m = 0; m < shape.all_microbatches(); ++m) {
            work[static_cast<std::size_t>(shape.executor_of(stage, m))].microbatches.push_back(m);
        }
    }
    return work;
}

std::optional<RegularShape> grid_behind(const PipelineShape& shape) {
    const std::optional<RegularShape> rows = rows_of(shape);
    if (!rows) return std::nullopt;
    const auto [pipe, replicas, chunks, each] = *rows;
    return is_dealt_like(shape, grid_shape(pipe, replicas, chunks, each)) ? rows : std::nullopt;
}

std::optional<RegularShape> v_behind(const PipelineShape& shape) {
    const std::optional<RegularShape> rows = rows_of(shape);
    if (!rows) return std::nullopt;
    const auto [pipe, replicas, chunks, each] = *rows;
    return is_dealt_like(shape, v_shape(pipe, replicas, each)) ? rows : std::nullopt;
}

}  // namespace trireme::schedule
