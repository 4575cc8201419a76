#include "trireme/schedule/generate.hpp"

#include <algorithm>
#include <optional>

#include "schedule/schedules/generators.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

void require_whole(const PipelineShape& shape) {
    if (shape.teams < 1 || shape.stages() < 1 || shape.micro_batches < 1) {
        throw ConfigError(cat("a pipeline needs at least 1 team, 1 stage and 1 micro-batch, but has ",
                              shape.teams, " teams, ", shape.stages(), " stages and ", shape.micro_batches,
                              " micro-batches; change --pipe or --microbatches"));
    }
    bool is_whole = shape.executor.size() == shape.holders.size();
    const auto is_team = [&](int team) { return team >= 0 && team < shape.teams; };
    for (std::size_t s = 0; is_whole && s < shape.holders.size(); ++s) {
        is_whole = !shape.holders[s].empty() &&
                   shape.executor[s].size() == static_cast<std::size_t>(shape.micro_batches) &&
                   std::all_of(shape.holders[s].begin(), shape.holders[s].end(), is_team) &&
                   std::all_of(shape.executor[s].begin(), shape.executor[s].end(),
                               [&](int team) { return shape.holds(team, static_cast<int>(s)); });
    }
    if (!is_whole) {
        throw BugError(cat("a pipeline shape of ", shape.stages(), " stages and ", shape.micro_batches,
                           " micro-batches does not name a holder as executor for each of them"));
    }
}

[[noreturn]] void refuse_chunks(const Schedule& schedule, const RegularShape& grid) {
    throw ConfigError(
        cat("schedule ", schedule.name, " is made for one stage on each rank of the pipe, but pipe ", grid.pipe,
            " with chunks ", grid.chunks, " puts ", grid.chunks, " there; the nearest shape it takes is pipe ",
            grid.pipe, " with chunks 1: use --chunks 1, or --schedule interleaved or looped-bfs"));
}

[[noreturn]] void refuse_shared_teams(const Schedule& schedule, const PipelineShape& shape) {
    throw ConfigError(cat("schedule ", schedule.name,
                          " is made for one stage on each rank of the pipe, but this ", "layout of ",
                          shape.stages(), " stages puts several on one; the nearest shape it takes ",
                          "has a team of ranks of its own for each replica of the ", shape.stages(),
                          " stages: ", v_behind(shape) ? "use --schedule zb-v, " : "",
                          "change the layout, or give the order of work yourself with --schedule FILE.csv"));
}

// "8 micro-batches on 3 stages (replicas 3, 3, 2)"
std::string shape_text(const PipelineShape& shape) {
    std::string replicas;
    for (const std::vector<int>& holders : shape.holders) {
        replicas += cat(replicas.empty() ? "" : ", ", holders.size());
    }
    return cat(shape.micro_batches, " micro-batches on ", shape.stages(), " stages (replicas ", replicas, ")");
}

[[noreturn]] void refuse_uneven(const Schedule& schedule, const PipelineShape& shape) {
    const int pipe = std::min(shape.stages(), shape.teams);
    const int data = shape.teams / pipe;
    throw ConfigError(cat("schedule ", schedule.name,
                          " is made for a grid of rows with equally many micro-batches, but ",
                          shape_text(shape), " are none; the nearest grid is pipe ", pipe, " x data ", data,
                          ": use --pipe ", pipe, " --data ", data, " in place of the layout",
                          one_stage_each(shape) ? ", or --schedule 1f1b or gpipe" : "",
                          v_behind(shape) ? ", or --schedule zb-v" : ""));
}

[[noreturn]] void refuse_no_v(const PipelineShape& shape) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    const int pipe = grid ? grid->pipe : std::min(shape.stages(), shape.teams);
    const int data = shape.teams / pipe;
    throw ConfigError(
        cat("schedule zb-v is made for a V, where rank r of a row holds stages r and 2 x pipe - 1 - r "
            "and rows have equally many micro-batches, but ",
            shape_text(shape), " are none; the nearest V is pipe ", pipe, " x data ", data, ": use --pipe ",
            pipe, " --data ", data, " in place of the layout"));
}

RegularShape grid_for(const Schedule& schedule, const PipelineShape& shape) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    if (!grid) refuse_uneven(schedule, shape);
    return *grid;
}

ScheduleInput input_for(const Schedule& schedule, const PipelineShape& shape) {
    const std::optional<std::vector<TeamWork>> work = one_stage_each(shape);
    switch (schedule.shape) {
        case ScheduleShape::one_stage_each:
            if (work) return {.shape = shape, .work = *work};
            if (const std::optional<RegularShape> grid = grid_behind(shape)) refuse_chunks(schedule, *grid);
            refuse_shared_teams(schedule, shape);
        case ScheduleShape::grid:
            return {.shape = shape, .grid = grid_for(schedule, shape)};
        case ScheduleShape::one_chunk_grid: {
            const RegularShape grid = grid_for(schedule, shape);
            if (grid.chunks > 1) refuse_chunks(schedule, grid);
            return {.shape = shape, .work = work.value(), .grid = grid};
        }
        case ScheduleShape::v:
            if (const std::optional<RegularShape> v = v_behind(shape)) return {.shape = shape, .grid = *v};
            refuse_no_v(shape);
    }
    throw BugError(cat("schedule ", schedule.name, " takes no shape"));
}

std::vector<Program> forwards_of(const ScheduleInput& input, ScheduleShape shape) {
    if (shape == ScheduleShape::v) return forwards_of_v(input.grid);
    return shape == ScheduleShape::grid ? forwards_of(input.grid) : forwards_of(input.work);
}

}  // namespace

std::vector<Program> generate(const Schedule& schedule, const PipelineShape& shape) {
    require_whole(shape);
    const ScheduleInput input = input_for(schedule, shape);
    return shape.is_training ? schedule.programs(input) : forwards_of(input, schedule.shape);
}

PipelineShape with_updates_of(const Schedule& schedule, PipelineShape shape) {
    const bool has_several_teams = static_cast<int>(shape.holders.front().size()) < shape.teams;
    shape.updates_alone = schedule.updates_stages_alone;
    shape.validates = schedule.splits_backward && has_several_teams && shape.is_training;
    return shape;
}

Phases generate_phases(const Schedule& schedule, const PipelineShape& shape) {
    if (with_updates_of(schedule, shape).validates)
        return with_validated_updates(generate(schedule, shape), shape);
    if (!schedule.keeps_old_weights) {
        return {.prologue = std::vector<Program>(static_cast<std::size_t>(shape.teams)),
                .body = generate(schedule, shape)};
    }
    PipelineShape many = shape;
    many.steps = 2 * shape.stages() + 4;  // no stage runs further ahead than there are stages
    return folded(generate(schedule, many), many);
}

}  // namespace trireme
