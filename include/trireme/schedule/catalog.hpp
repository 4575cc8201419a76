// The catalog of pipeline schedules. Options, help, plans, searches and comparisons take all that they know of
// a schedule from its row.
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

// A row of teams that all have equal stages.
struct EqualRow {
    double pipe = 1;
    double chunks = 1;
    double microbatches = 1;
};

struct Schedule {
    const char* name;     // "1f1b"
    const char* meaning;  // a line of help
    ScheduleShape shape;
    // The programs of a training step. `generate()` has checked the shape.
    std::vector<Program> (*programs)(const ScheduleInput& input);
    // The idle time of a team in a step, in closed form, if all stages cost the same and messages cost nothing.
    // Empty if there is no formula for the row.
    std::optional<double> (*idle)(const EqualRow& row, const StageCost& cost);
    // Why the schedule does not take an input of its shape; empty if it does. Null if it takes all.
    std::string (*obstacle)(const ScheduleInput& input) = nullptr;
    bool splits_backward = false;  // updates go ahead of the gradient's norm, and are validated
    bool keeps_old_weights = false;
    bool updates_stages_alone = false;

    bool operator==(const Schedule& other) const { return name == other.name; }
};

// All schedules, in the order of help.
std::span<const Schedule> schedules();
const Schedule* find_schedule(const std::string& name);  // null if there is none
// Throws ConfigError with the nearest known name.
const Schedule& schedule_named(const std::string& name);

inline constexpr const char* searched_schedule = "auto";  // no row: programs are searched by costs

}  // namespace trireme::schedule
