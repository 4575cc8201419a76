#include "trireme/schedule/generate.hpp"

#include <algorithm>
#include <optional>

#include "schedule/schedules/generators.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

void require_whole(const PipelineShape& shape) {
    if (shape.teams < 1 || shape.stages() < 1 || shape.microbatches < 1) {
        throw ConfigError(cat("a pipeline needs at least 1 team, 1 stage and 1 micro-batch, but has ",
                              shape.teams, " teams, ", shape.stages(), " stages and ", shape.microbatches,
                              " micro-batches; change --pipe or --microbatches"));
    }
    bool is_whole = shape.executor.size() == shape.holders.size();
    const auto is_team = [&](int team) { return team >= 0 && team < shape.teams; };
    for (std::size_t s = 0; is_whole && s < shape.holders.size(); ++s) {
        is_whole = !shape.holders[s].empty() &&
                   shape.executor[s].size() == static_cast<std::size_t>(shape.microbatches) &&
                   std::all_of(shape.holders[s].begin(), shape.holders[s].end(), is_team) &&
                   std::all_of(shape.executor[s].begin(), shape.executor[s].end(),
                               [&](int team) { return shape.holds(team, static_cast<int>(s)); });
    }
    if (!is_whole) {
        throw BugError(cat("a pipeline shape of ", shape.stages(), " stages and ", shape.microbatches,
                           " micro-batches does not name a holder as executor for each of them"));
    }
}

std::string chunks_obstacle(const Schedule& schedule, const RegularShape& grid) {
    return cat("schedule ", schedule.name, " is made for one stage on each rank of the pipe, but pipe ",
               grid.pipe, " with chunks ", grid.chunks, " puts ", grid.chunks,
               " there; the nearest shape it takes is pipe ", grid.pipe,
               " with chunks 1: use --chunks 1, or --schedule interleaved or looped-bfs");
}

std::string shared_teams_obstacle(const Schedule& schedule, const PipelineShape& shape) {
    return cat("schedule ", schedule.name, " is made for one stage on each rank of the pipe, but this ",
               "layout of ", shape.stages(), " stages puts several on one; the nearest shape it takes ",
               "has a team of ranks of its own for each replica of the ", shape.stages(),
               " stages: ", v_behind(shape) ? "use --schedule zb-v, " : "",
               "change the layout, or give the order of work yourself with --schedule FILE.csv");
}

// "8 micro-batches on 3 stages (replicas 3, 3, 2)"
std::string shape_text(const PipelineShape& shape) {
    std::string replicas;
    for (const std::vector<int>& holders : shape.holders) {
        replicas += cat(replicas.empty() ? "" : ", ", holders.size());
    }
    return cat(shape.microbatches, " micro-batches on ", shape.stages(), " stages (replicas ", replicas, ")");
}

std::string uneven_obstacle(const Schedule& schedule, const PipelineShape& shape) {
    const int pipe = std::min(shape.stages(), shape.teams);
    const int data = shape.teams / pipe;
    return cat("schedule ", schedule.name, " is made for a grid of rows with equally many micro-batches, but ",
               shape_text(shape), " are none; the nearest grid is pipe ", pipe, " x data ", data,
               ": use --pipe ", pipe, " --data ", data, " in place of the layout",
               one_stage_each(shape) ? ", or --schedule 1f1b or gpipe" : "",
               v_behind(shape) ? ", or --schedule zb-v" : "");
}

std::string no_v_obstacle(const PipelineShape& shape) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    const int pipe = grid ? grid->pipe : std::min(shape.stages(), shape.teams);
    const int data = shape.teams / pipe;
    return cat(
        "schedule zb-v is made for a V, where rank r of a row holds stages r and 2 x pipe - 1 - r "
        "and rows have equally many micro-batches, but ",
        shape_text(shape), " are none; the nearest V is pipe ", pipe, " x data ", data, ": use --pipe ", pipe,
        " --data ", data, " in place of the layout");
}

// Says why the schedule cannot be generated for the shape; empty if it can.
std::string obstacle_of_shape(const Schedule& schedule, const PipelineShape& shape) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    switch (schedule.shape) {
        case ScheduleShape::one_stage_each:
            if (one_stage_each(shape)) return {};
            return grid ? chunks_obstacle(schedule, *grid) : shared_teams_obstacle(schedule, shape);
        case ScheduleShape::grid:
            return grid ? std::string() : uneven_obstacle(schedule, shape);
        case ScheduleShape::one_chunk_grid:
            if (!grid) return uneven_obstacle(schedule, shape);
            return grid->chunks > 1 ? chunks_obstacle(schedule, *grid) : std::string();
        case ScheduleShape::v:
            return v_behind(shape) ? std::string() : no_v_obstacle(shape);
    }
    throw BugError(cat("schedule ", schedule.name, " takes no shape"));
}

ScheduleInput input_for(const Schedule& schedule, const PipelineShape& shape) {
    const bool is_v = schedule.shape == ScheduleShape::v;
    return {.shape = shape,
            .work = one_stage_each(shape).value_or(std::vector<TeamWork>()),
            .grid = (is_v ? v_behind(shape) : grid_behind(shape)).value_or(RegularShape())};
}

std::vector<Program> forwards_of(const ScheduleInput& input, ScheduleShape shape) {
    if (shape == ScheduleShape::v) return forwards_of_v(input.grid);
    return shape == ScheduleShape::grid ? forwards_of(input.grid) : forwards_of(input.work);
}

}  // namespace

std::string obstacle_to(const Schedule& schedule, const PipelineShape& shape) {
    require_whole(shape);
    const std::string obstacle = obstacle_of_shape(schedule, shape);
    if (!obstacle.empty() || !shape.is_training || schedule.obstacle == nullptr) return obstacle;
    return schedule.obstacle(input_for(schedule, shape));
}

std::vector<Program> generate(const Schedule& schedule, const PipelineShape& shape) {
    if (const std::string obstacle = obstacle_to(schedule, shape); !obstacle.empty())
        throw ConfigError(obstacle);
    const ScheduleInput input = input_for(schedule, shape);
    return shape.is_training ? schedule.programs(input) : forwards_of(input, schedule.shape);
}

PipelineShape with_updates_of(const Schedule& schedule, PipelineShape shape) {
    const bool has_several_teams = static_cast<int>(shape.holders.front().size()) < shape.teams;
    shape.updates_alone = schedule.updates_stages_alone;
    shape.validates = schedule.splits_backward && has_several_teams && shape.is_training;
    return shape;
}

namespace {

// Returns a shape with enough steps to find the order that repeats. No stage runs ahead by more steps than
// there are stages.
PipelineShape repeated(const Schedule& schedule, PipelineShape shape) {
    if (schedule.keeps_old_weights) shape.steps = 2 * shape.stages() + 4;
    return shape;
}

}  // namespace

std::string obstacle_to_phases(const Schedule& schedule, const PipelineShape& shape) {
    return obstacle_to(schedule, repeated(schedule, shape));
}

Phases generate_phases(const Schedule& schedule, const PipelineShape& shape) {
    if (with_updates_of(schedule, shape).validates)
        return with_validated_updates(generate(schedule, shape), shape);
    if (schedule.keeps_old_weights) {
        const PipelineShape many = repeated(schedule, shape);
        return folded(generate(schedule, many), many);
    }
    return {.prologue = std::vector<Program>(static_cast<std::size_t>(shape.teams)),
            .body = generate(schedule, shape)};
}

}  // namespace trireme::schedule
