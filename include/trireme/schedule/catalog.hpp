// The catalog of pipeline schedules. Options, help, plans, searches and comparisons read all properties of a
// schedule from its entry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

struct ScheduleInput;

// The pipeline shapes that a schedule can be generated for. pipeline_shape.hpp explains pipeline replicas.
enum class ScheduleShape : std::uint8_t {
    one_stage_per_team,  // each team holds one stage; replicas may execute different numbers of micro-batches
    grid,                // equal pipeline replicas with any number of chunks: see make_grid_shape()
    one_chunk_grid,      // equal pipeline replicas with one chunk
    two_chunk_v          // equal pipeline replicas with two chunks in a V: see make_v_shape()
};

// Sizes of one pipeline replica whose stages all have the same cost. They are doubles for use in formulas.
struct PipelineSizes {
    double pipe = 1;          // teams
    double chunks = 1;        // stages per team
    double microbatches = 1;  // per step, of this replica
};

// An entry of the catalog.
struct Schedule {
    const char* name;  // "1f1b"
    const char* help;  // one line of the help text
    ScheduleShape shape;
    // Generates the programs of a training step, one per team, with compute instructions only. A schedule that
    // stashes weights generates shape.steps steps, with REDUCEs and STEPs. generate() checks the shape before
    // the call.
    std::vector<Program> (*make_programs)(const ScheduleInput& input);
    // Computes, in closed form, the idle time of a team in a step, which is equal for all teams. All stages
    // have the costs `cost`; messages, REDUCEs and STEPs take no time. Returns nothing if there is no formula
    // for these arguments.
    std::optional<double> (*compute_idle_time)(const PipelineSizes& sizes, const StageCost& cost);
    // Returns why the schedule rejects an input whose shape is of the kind `shape`; empty if the schedule
    // accepts the input. The pointer is null if the schedule accepts all these inputs.
    std::string (*find_obstacle)(const ScheduleInput& input) = nullptr;
    bool is_1f1b = false;               // 1F1B, perhaps with extra forwards
    bool takes_extra_forwards = false;  // the programs follow PipelineShape::extra_forwards
    bool splits_backward = false;       // backwards are split in two halves, and updates are speculative
    bool stashes_weights = false;       // no flush between steps; old weights are kept for backward passes
    bool updates_stages_independently = false;  // a STEP waits for the gradients of its own stage only

    // Compares the pointers `name`, which differ between the entries of the catalog.
    bool operator==(const Schedule& other) const { return name == other.name; }
};

// Returns all schedules, in the order of the help text.
std::span<const Schedule> list_schedules();
const Schedule* find_schedule(const std::string& name);  // returns null if there is no such schedule
// Return the members of these names; false if there is no such schedule.
bool is_1f1b(const std::string& name);
bool takes_extra_forwards(const std::string& name);
// Returns the schedule with this name. Throws ConfigError, with the nearest known name, if there is no such
// schedule.
const Schedule& require_schedule(const std::string& name);

// The value of --schedule for which a search generates the programs from measured or given costs. The catalog
// has no such entry.
inline constexpr const char* searched_schedule_name = "auto";

}  // namespace trireme::schedule
