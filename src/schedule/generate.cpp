#include "trireme/schedule/generate.hpp"

#include <algorithm>
#include <optional>

#include "schedule/generators.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/nearest.hpp"

namespace trireme {
namespace {

constexpr ScheduleKind all_kinds[] = {ScheduleKind::inter_layer, ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                                      ScheduleKind::interleaved, ScheduleKind::looped_bfs};

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

[[noreturn]] void refuse_chunks(ScheduleKind kind, const RegularShape& grid) {
    throw ConfigError(
        cat("schedule ", name_of(kind), " is made for one stage on each rank of the pipe, but pipe ", grid.pipe,
            " with chunks ", grid.chunks, " puts ", grid.chunks, " there; the nearest shape it takes is pipe ",
            grid.pipe, " with chunks 1: use --chunks 1, or --schedule interleaved or looped-bfs"));
}

[[noreturn]] void refuse_shared_teams(ScheduleKind kind, const PipelineShape& shape) {
    throw ConfigError(
        cat("schedule ", name_of(kind), " is made for one stage on each rank of the pipe, but this ",
            "layout of ", shape.stages(), " stages puts several on one; the nearest shape it takes ",
            "has a team of ranks of its own for each replica of the ", shape.stages(),
            " stages: change the layout, or give the order of work yourself with --schedule FILE.csv"));
}

[[noreturn]] void refuse_uneven(ScheduleKind kind, const PipelineShape& shape) {
    const int pipe = std::min(shape.stages(), shape.teams);
    const int data = shape.teams / pipe;
    std::string replicas;
    for (const std::vector<int>& holders : shape.holders) {
        replicas += cat(replicas.empty() ? "" : ", ", holders.size());
    }
    throw ConfigError(cat("schedule ", name_of(kind), " is made for a grid, but this layout of ",
                          shape.stages(), " stages (replicas ", replicas,
                          ") is none; the nearest grid is pipe ", pipe, " x data ", data, ": use --pipe ", pipe,
                          " --data ", data, " in place of the layout",
                          one_stage_each(shape) ? ", or --schedule 1f1b or gpipe" : ""));
}

std::vector<Program> generate_looped(ScheduleKind kind, const PipelineShape& shape) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    if (!grid) refuse_uneven(kind, shape);
    if (!shape.is_training) return forwards_of(*grid);
    return kind == ScheduleKind::interleaved ? interleaved(*grid) : looped_bfs(*grid);
}

std::vector<Program> generate_straight(ScheduleKind kind, const PipelineShape& shape) {
    const std::optional<std::vector<TeamWork>> work = one_stage_each(shape);
    if (!work) {
        if (const std::optional<RegularShape> grid = grid_behind(shape)) refuse_chunks(kind, *grid);
        refuse_shared_teams(kind, shape);
    }
    if (!shape.is_training) return forwards_of(*work);
    if (kind == ScheduleKind::inter_layer) return inter_layer(*work);
    return kind == ScheduleKind::gpipe ? gpipe(*work) : one_f_one_b(shape, *work);
}

}  // namespace

const char* name_of(ScheduleKind kind) {
    switch (kind) {
        case ScheduleKind::inter_layer:
            return "inter-layer";
        case ScheduleKind::gpipe:
            return "gpipe";
        case ScheduleKind::one_f_one_b:
            return "1f1b";
        case ScheduleKind::interleaved:
            return "interleaved";
        case ScheduleKind::looped_bfs:
            return "looped-bfs";
    }
    throw BugError(cat("schedule without a name: ", static_cast<int>(kind)));
}

std::vector<std::string> known_schedules() {
    std::vector<std::string> names;
    for (const ScheduleKind kind : all_kinds) names.emplace_back(name_of(kind));
    return names;
}

ScheduleKind schedule_named(const std::string& name) {
    for (const ScheduleKind kind : all_kinds) {
        if (name == name_of(kind)) return kind;
    }
    std::string names;
    for (const std::string& known : known_schedules()) names += (names.empty() ? "" : ", ") + known;
    throw ConfigError(cat("there is no schedule '", name, "'", did_you_mean(name, known_schedules()),
                          "; the schedules are ", names));
}

std::vector<Program> generate(ScheduleKind kind, const PipelineShape& shape) {
    require_whole(shape);
    switch (kind) {
        case ScheduleKind::inter_layer:
        case ScheduleKind::gpipe:
        case ScheduleKind::one_f_one_b:
            return generate_straight(kind, shape);
        case ScheduleKind::interleaved:
        case ScheduleKind::looped_bfs:
            return generate_looped(kind, shape);
    }
    throw BugError(cat("schedule without a generator: ", static_cast<int>(kind)));
}

}  // namespace trireme
