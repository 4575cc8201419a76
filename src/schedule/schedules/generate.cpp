#include "trireme/schedule/generate.hpp"

#include <algorithm>
#include <optional>

#include "schedule/schedules/generators.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/schedule/search.hpp"

namespace trireme {
namespace {

constexpr ScheduleKind all_kinds[] = {ScheduleKind::inter_layer,  ScheduleKind::gpipe,
                                      ScheduleKind::one_f_one_b,  ScheduleKind::interleaved,
                                      ScheduleKind::looped_bfs,   ScheduleKind::zb_h1,
                                      ScheduleKind::zb_h2,        ScheduleKind::zb_v,
                                      ScheduleKind::pipedream,    ScheduleKind::pipedream_vertical,
                                      ScheduleKind::pipedream_2bw};

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
    throw ConfigError(cat("schedule ", name_of(kind),
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

[[noreturn]] void refuse_uneven(ScheduleKind kind, const PipelineShape& shape) {
    const int pipe = std::min(shape.stages(), shape.teams);
    const int data = shape.teams / pipe;
    throw ConfigError(cat("schedule ", name_of(kind),
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

std::vector<Program> generate_looped(ScheduleKind kind, const PipelineShape& shape) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    if (!grid) refuse_uneven(kind, shape);
    if (!shape.is_training) return forwards_of(*grid);
    return kind == ScheduleKind::interleaved ? interleaved(*grid) : looped_bfs(*grid);
}

std::vector<Program> generate_late_weights(ScheduleKind kind, const PipelineShape& shape) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    if (!grid) refuse_uneven(kind, shape);
    if (grid->chunks > 1) refuse_chunks(kind, *grid);
    const std::vector<TeamWork> work = one_stage_each(shape).value();
    if (!shape.is_training) return forwards_of(work);
    return kind == ScheduleKind::zb_h1 ? zb_h1(work, grid->pipe) : zb_h2(work, grid->pipe);
}

std::vector<Program> generate_v(const PipelineShape& shape) {
    const std::optional<RegularShape> v = v_behind(shape);
    if (!v) refuse_no_v(shape);
    return shape.is_training ? zb_v(*v) : forwards_of_v(*v);
}

std::vector<Program> generate_straight(ScheduleKind kind, const PipelineShape& shape) {
    const std::optional<std::vector<TeamWork>> work = one_stage_each(shape);
    if (!work) {
        if (const std::optional<RegularShape> grid = grid_behind(shape)) refuse_chunks(kind, *grid);
        refuse_shared_teams(kind, shape);
    }
    if (!shape.is_training) return forwards_of(*work);
    if (uses_older_weights(kind)) return pipedream(kind, shape);
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
        case ScheduleKind::zb_h1:
            return "zb-h1";
        case ScheduleKind::zb_h2:
            return "zb-h2";
        case ScheduleKind::zb_v:
            return "zb-v";
        case ScheduleKind::pipedream:
            return "pipedream";
        case ScheduleKind::pipedream_vertical:
            return "pipedream-vertical";
        case ScheduleKind::pipedream_2bw:
            return "pipedream-2bw";
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
    std::vector<std::string> known = known_schedules();
    known.emplace_back(searched_schedule);
    std::string names;
    for (const std::string& each : known) names += (names.empty() ? "" : ", ") + each;
    throw ConfigError(cat("there is no schedule ", in_quotes(name), "; the schedules are ", names,
                          ", and files that end in .csv", did_you_mean(name, known)));
}

std::vector<Program> generate(ScheduleKind kind, const PipelineShape& shape) {
    require_whole(shape);
    switch (kind) {
        case ScheduleKind::inter_layer:
        case ScheduleKind::gpipe:
        case ScheduleKind::one_f_one_b:
        case ScheduleKind::pipedream:
        case ScheduleKind::pipedream_vertical:
        case ScheduleKind::pipedream_2bw:
            return generate_straight(kind, shape);
        case ScheduleKind::interleaved:
        case ScheduleKind::looped_bfs:
            return generate_looped(kind, shape);
        case ScheduleKind::zb_h1:
        case ScheduleKind::zb_h2:
            return generate_late_weights(kind, shape);
        case ScheduleKind::zb_v:
            return generate_v(shape);
    }
    throw BugError(cat("schedule without a generator: ", static_cast<int>(kind)));
}

bool uses_older_weights(ScheduleKind kind) {
    return kind == ScheduleKind::pipedream || kind == ScheduleKind::pipedream_vertical ||
           kind == ScheduleKind::pipedream_2bw;
}

bool updates_stages_alone(ScheduleKind kind) { return kind == ScheduleKind::pipedream; }

PipelineShape with_updates_of(ScheduleKind kind, PipelineShape shape) {
    const bool has_halves =
        kind == ScheduleKind::zb_h1 || kind == ScheduleKind::zb_h2 || kind == ScheduleKind::zb_v;
    const bool has_several_teams = static_cast<int>(shape.holders.front().size()) < shape.teams;
    shape.updates_alone = updates_stages_alone(kind);
    shape.validates = has_halves && has_several_teams && shape.is_training;
    return shape;
}

Phases generate_phases(ScheduleKind kind, const PipelineShape& shape) {
    if (with_updates_of(kind, shape).validates) return with_validated_updates(generate(kind, shape), shape);
    if (!uses_older_weights(kind)) {
        return {.prologue = std::vector<Program>(static_cast<std::size_t>(shape.teams)),
                .body = generate(kind, shape)};
    }
    PipelineShape many = shape;
    many.steps = 2 * shape.stages() + 4;  // no stage runs further ahead than there are stages
    return folded(generate(kind, many), many);
}

}  // namespace trireme
