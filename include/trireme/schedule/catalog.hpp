// The catalog of pipeline schedules. Options, help, plans, searches and comparisons read everything about a
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

enum class ScheduleShape : std::uint8_t {
    one_stage_each,  // each team holds one stage; replicas may execute different numbers of micro-batches
    grid,            // equal rows of teams with any number of chunks
    one_chunk_grid,  // equal rows of teams with one chunk
    v                // equal rows of teams with two chunks in a V
};

// Sizes of a row of teams whose stages all cost the same.
struct EqualRow {
    double pipe = 1;          // teams
    double chunks = 1;        // stages per team
    double microbatches = 1;  // per step
};

// An entry of the catalog.
struct Schedule {
    const char* name;     // "1f1b"
    const char* meaning;  // a line of help
    ScheduleShape shape;
    // Generates the programs of a training step. Called after generate() has checked the shape.
    std::vector<Program> (*programs)(const ScheduleInput& input);
    // Computes the idle time of a team in a step in closed form. All stages cost the same and messages cost
    // nothing. Empty if there is no formula for the row.
    std::optional<double> (*idle)(const EqualRow& row, const StageCost& cost);
    // Says why the schedule rejects an input of its shape; empty if it takes it. Null if it takes all inputs.
    std::string (*obstacle)(const ScheduleInput& input) = nullptr;
    bool splits_backward = false;       // backward passes in two halves; updates are speculative
    bool keeps_old_weights = false;     // no flush between steps; weights may be several updates old
    bool updates_stages_alone = false;  // an update waits for the gradients of its own stage only

    bool operator==(const Schedule& other) const { return name == other.name; }
};

// All schedules, in the order of help.
std::span<const Schedule> schedules();
const Schedule* find_schedule(const std::string& name);  // returns null if there is none
// Throws ConfigError, with the nearest known name, if there is no such schedule.
const Schedule& schedule_named(const std::string& name);

inline constexpr const char* searched_schedule =
    "auto";  // not in the catalog: programs are searched by their costs

}  // namespace trireme::schedule
