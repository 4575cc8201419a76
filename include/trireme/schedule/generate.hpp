// Generates the programs of schedules, with compute instructions only.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns `shape` with the update rule of the schedule: `updates_alone` and `validates` of PipelineShape.
// Updates are not validated if each team holds all stages.
PipelineShape with_updates_of(const Schedule& schedule, PipelineShape shape);

// Says why the schedule cannot be generated for the shape, with the nearest shape that it takes; empty if it
// can. For example, several chunks need interleaved or looped-bfs on a grid, or zb-v on a V.
std::string obstacle_to(const Schedule& schedule, const PipelineShape& shape);
std::string obstacle_to_phases(const Schedule& schedule,
                               const PipelineShape& shape);  // the same for generate_phases()

// Returns one program per team, with compute instructions only, in the order of the schedule. Forward-only
// shapes get the forwards. Throws ConfigError with the obstacle, if there is one.
std::vector<Program> generate(const Schedule& schedule, const PipelineShape& shape);

// Returns the programs of many steps as phases, for with_updates_of(schedule, shape). `shape` describes one
// step. If the schedule keeps work in flight across the end of a step, the phases include REDUCEs, STEPs and
// VALIDATEs, and instructions have the ages of their weights. Throws ConfigError as generate() does.
Phases generate_phases(const Schedule& schedule, const PipelineShape& shape);

}  // namespace trireme::schedule
