// Generates the programs of schedules. lower() adds messages and collectives to them.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns `shape` with the update rule of the schedule: sets `updates_stages_independently` and
// `has_speculative_updates`. Updates are not speculative if each team holds all stages, if a stage is frozen,
// or if `shape` is not for training.
PipelineShape apply_update_rule(const Schedule& schedule, PipelineShape shape);

// Returns why the schedule cannot be generated for the shape, and the nearest shape that the schedule accepts.
// Returns an empty text if the schedule can be generated. For example, several chunks need interleaved or
// looped-bfs on a grid, or zb-v on a V. Throws ConfigError if the shape has no team, stage or micro-batch.
// Throws BugError if the shape does not name a holder as executor for each stage and micro-batch.
std::string find_schedule_obstacle(const Schedule& schedule, const PipelineShape& shape);

// Returns the text of the ConfigError that generate_phases() would throw; empty if generate_phases() would
// succeed. Throws the errors of find_schedule_obstacle().
std::string find_phases_obstacle(const Schedule& schedule, const PipelineShape& shape);

// Returns one program per team. The schedule determines the order of the instructions. Programs have compute
// instructions only; the programs of a schedule that stashes weights also have REDUCEs and STEPs. If `shape` is
// not for training, the programs have forwards only. Throws ConfigError with the text of
// find_schedule_obstacle() if this text is not empty.
std::vector<Program> generate(const Schedule& schedule, const PipelineShape& shape);

// Returns the programs of many steps as phases, for the shape that apply_update_rule(schedule, shape) returns.
// `shape` describes one step. If the schedule keeps work in flight across the end of a step, the phases include
// REDUCEs, STEPs and VALIDATEs, and instructions have the ages of their weights. Throws ConfigError with the
// text of find_phases_obstacle() if this text is not empty.
Phases generate_phases(const Schedule& schedule, const PipelineShape& shape);

}  // namespace trireme::schedule
