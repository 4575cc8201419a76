#include "trireme/schedule/generate.hpp"

#include <algorithm>
#include <optional>

#include "schedule/schedules/generators.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::schedule {
namespace {

void require_complete_shape(const PipelineShape& shape) {
    if (shape.teams < 1 || shape.stages() < 1 || shape.microbatches < 1) {
        throw ConfigError(
            cat("a pipeline needs at least 1 team, 1 stage and 1 micro-batch, but has fewer (teams ",
                shape.teams, ", stages ", shape.stages(), ", micro-batches ", shape.microbatches,
                "); change --pipe or --microbatches"));
    }
    bool is_complete = shape.executor.size() == shape.holders.size();
    const auto is_team = [&](int team) { return team >= 0 && team < shape.teams; };
    for (std::size_t s = 0; is_complete && s < shape.holders.size(); ++s) {
        is_complete = !shape.holders[s].empty() &&
                      shape.executor[s].size() == static_cast<std::size_t>(shape.microbatches) &&
                      std::all_of(shape.holders[s].begin(), shape.holders[s].end(), is_team) &&
                      std::all_of(shape.executor[s].begin(), shape.executor[s].end(),
                                  [&](int team) { return shape.is_holder(team, static_cast<int>(s)); });
    }
    if (!is_complete) {
        throw BugError(
            cat("a pipeline shape of ", shape.stages(), " stages and ", shape.microbatches,
                " micro-batches must name a holder as executor of every micro-batch in every stage"));
    }
}

// True if each team holds at most one stage.
bool has_single_stage_teams(const PipelineShape& shape) { return find_team_work(shape).has_value(); }

bool is_v_shape(const PipelineShape& shape) { return find_v_grid(shape).has_value(); }

std::string describe_chunks_obstacle(const Schedule& schedule, const ReplicaGrid& grid) {
    return cat("schedule ", schedule.name, " needs one stage per rank, but pipe ", grid.pipe, " with chunks ",
               grid.chunks, " puts ", grid.chunks,
               " stages on each rank; use --chunks 1, or --schedule interleaved or looped-bfs");
}

std::string describe_shared_teams_obstacle(const Schedule& schedule, const PipelineShape& shape) {
    return cat("schedule ", schedule.name, " needs one stage per rank, but this layout of ", shape.stages(),
               " stages puts several stages on a rank; use ",
               is_v_shape(shape) ? "--schedule zb-v, different ranks for each replica of each stage, "
                                 : "different ranks for each replica of each stage, ",
               "or programs of your own with --schedule FILE.csv");
}

// Returns, for example, "the layout has 8 micro-batches on 3 stages (replicas 3, 3, 2)".
std::string describe_shape(const PipelineShape& shape) {
    std::string replicas;
    for (const std::vector<int>& holders : shape.holders) {
        replicas += cat(replicas.empty() ? "" : ", ", holders.size());
    }
    return cat("the layout has ", format_count(static_cast<std::uint64_t>(shape.microbatches), "micro-batch"),
               " on ", format_count(shape.holders.size(), "stage"), " (replicas ", replicas, ")");
}

std::string describe_uneven_obstacle(const Schedule& schedule, const PipelineShape& shape) {
    const int pipe = std::min(shape.stages(), shape.teams);
    const int data = shape.teams / pipe;
    return cat("schedule ", schedule.name,
               " needs a grid whose replicas have equal numbers of micro-batches, but ", describe_shape(shape),
               "; use --pipe ", pipe, " --data ", data, " in place of the layout",
               has_single_stage_teams(shape) ? ", or --schedule 1f1b or gpipe" : "",
               is_v_shape(shape) ? ", or --schedule zb-v" : "");
}

std::string describe_missing_v(const PipelineShape& shape) {
    const std::optional<ReplicaGrid> grid = find_replica_grid(shape);
    const int pipe = grid ? grid->pipe : std::min(shape.stages(), shape.teams);
    const int data = shape.teams / pipe;
    return cat(
        "schedule zb-v needs a V, where rank r of a replica holds stages r and 2 x pipe - 1 - r, and replicas "
        "have equal numbers of micro-batches, but ",
        describe_shape(shape), "; use --pipe ", pipe, " --data ", data, " in place of the layout");
}

// Returns why the schedule cannot be generated for the shape; empty if it can.
std::string find_shape_obstacle(const Schedule& schedule, const PipelineShape& shape) {
    const std::optional<ReplicaGrid> grid = find_replica_grid(shape);
    switch (schedule.shape) {
        case ScheduleShape::one_stage_per_team:
            if (has_single_stage_teams(shape)) return {};
            return grid ? describe_chunks_obstacle(schedule, *grid)
                        : describe_shared_teams_obstacle(schedule, shape);
        case ScheduleShape::grid:
            return grid ? std::string() : describe_uneven_obstacle(schedule, shape);
        case ScheduleShape::one_chunk_grid:
            if (!grid) return describe_uneven_obstacle(schedule, shape);
            return grid->chunks > 1 ? describe_chunks_obstacle(schedule, *grid) : std::string();
        case ScheduleShape::two_chunk_v:
            return is_v_shape(shape) ? std::string() : describe_missing_v(shape);
    }
    throw BugError(cat("schedule ", schedule.name, " has an unknown shape"));
}

ScheduleInput make_schedule_input(const Schedule& schedule, const PipelineShape& shape) {
    const bool needs_v = schedule.shape == ScheduleShape::two_chunk_v;
    return {.shape = shape,
            .work = find_team_work(shape).value_or(std::vector<TeamWork>()),
            .grid = (needs_v ? find_v_grid(shape) : find_replica_grid(shape)).value_or(ReplicaGrid())};
}

// Returns the forward-only programs for a schedule of the given shape.
std::vector<Program> make_forwards(const ScheduleInput& input, ScheduleShape schedule_shape) {
    if (schedule_shape == ScheduleShape::two_chunk_v) return make_v_forwards(input.grid);
    return schedule_shape == ScheduleShape::grid ? make_forwards(input.grid) : make_forwards(input.work);
}

}  // namespace

std::string find_schedule_obstacle(const Schedule& schedule, const PipelineShape& shape) {
    require_complete_shape(shape);
    const std::string obstacle = find_shape_obstacle(schedule, shape);
    if (!obstacle.empty() || !shape.is_training || schedule.find_obstacle == nullptr) return obstacle;
    return schedule.find_obstacle(make_schedule_input(schedule, shape));
}

std::vector<Program> generate(const Schedule& schedule, const PipelineShape& shape) {
    if (const std::string obstacle = find_schedule_obstacle(schedule, shape); !obstacle.empty())
        throw ConfigError(obstacle);
    const ScheduleInput input = make_schedule_input(schedule, shape);
    return shape.is_training ? schedule.make_programs(input) : make_forwards(input, schedule.shape);
}

PipelineShape apply_update_rule(const Schedule& schedule, PipelineShape shape) {
    const bool is_pipelined = static_cast<int>(shape.holders.front().size()) < shape.teams;
    shape.updates_stages_independently = schedule.updates_stages_independently;
    shape.has_speculative_updates = schedule.splits_backward && is_pipelined && shape.is_training &&
                                    shape.first_trained_stage == 0;
    return shape;
}

namespace {

// For a schedule without a flush, returns `shape` with enough steps for fold(), which needs three complete
// bodies. For other schedules, returns `shape` unchanged. A body contains forwards of later steps, but no stage
// runs ahead by more than stages() steps.
PipelineShape add_steps_for_fold(const Schedule& schedule, PipelineShape shape) {
    if (schedule.stashes_weights) shape.steps = 2 * shape.stages() + 4;
    return shape;
}

}  // namespace

std::string find_phases_obstacle(const Schedule& schedule, const PipelineShape& shape) {
    return find_schedule_obstacle(schedule, add_steps_for_fold(schedule, shape));
}

Phases generate_phases(const Schedule& schedule, const PipelineShape& shape) {
    if (apply_update_rule(schedule, shape).has_speculative_updates)
        return make_updates_speculative(generate(schedule, shape), shape);
    if (schedule.stashes_weights) {
        const PipelineShape shape_to_fold = add_steps_for_fold(schedule, shape);
        return fold(generate(schedule, shape_to_fold), shape_to_fold);
    }
    return {.prologue = std::vector<Program>(static_cast<std::size_t>(shape.teams)),
            .body = generate(schedule, shape)};
}

}  // namespace trireme::schedule
