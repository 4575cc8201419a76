// Schedules: generators of programs that hold compute instructions only.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The shape with what the schedule's updates wait for: see PipelineShape. Where a team holds all stages there
// is nothing to validate.
PipelineShape with_updates_of(const Schedule& schedule, PipelineShape shape);

// Why the schedule is not made for the shape, with the nearest shape that it takes; empty if it is. Chunks need
// interleaved or looped-bfs, or zb-v if they lie in a V; those need a grid, and so do zb-h1 and zb-h2; and so
// on.
std::string obstacle_to(const Schedule& schedule, const PipelineShape& shape);
std::string obstacle_to_phases(const Schedule& schedule, const PipelineShape& shape);  // for generate_phases()

// One program for each team, of the compute instructions alone, in the order that the schedule gives them.
// Forward-only shapes get the forwards. Throws ConfigError with the obstacle, if there is one.
std::vector<Program> generate(const Schedule& schedule, const PipelineShape& shape);

// Of many steps, as phases, for with_updates_of(schedule, shape); `shape` is of one step. Schedules that keep
// work in flight over the end of a step have their REDUCEs, STEPs and VALIDATEs, and their instructions the
// ages of their weights. Throws ConfigError as generate() does.
Phases generate_phases(const Schedule& schedule, const PipelineShape& shape);

}  // namespace trireme::schedule
