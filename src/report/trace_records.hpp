// The content of trace.json that a report draws.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::report {

struct TracedEvent {
    int rank = 0;
    std::string lane, name;     // lane: the row of the trace, such as "compute" or "messages"
    double begin = 0, end = 0;  // milliseconds, with the same origin for all ranks
    std::size_t step = 0;       // from 1
    bool is_instruction = false;
};

// A change of the clock of a rank's device.
struct TracedClock {
    int rank = 0;
    double begin = 0;  // milliseconds, as in TracedEvent
    int mhz = 0;
};

// The plan of the steps from `first_step` on.
struct TracedPlan {
    std::size_t first_step = 0;
    std::string schedule;
    std::vector<std::vector<int>> teams;  // ranks per team
    // Per team. Empty if consecutive steps overlap: a single step cannot be predicted then.
    std::vector<schedule::Program> programs;
    schedule::PipelineShape shape;  // default if `programs` is empty
};

struct RunTrace {
    std::size_t first_step = 0, last_step = 0;
    // Over all ranks. A rank keeps a limited number of events and drops later ones.
    std::size_t dropped_events = 0;
    int ranks = 0;
    std::vector<TracedPlan> plans;
    std::vector<TracedEvent> events;
    std::vector<TracedClock> clocks;  // of each rank in order
};

// Interprets the content of the file `path`. Throws ConfigError if the content is not in the format that
// `train` writes.
RunTrace parse_trace(const nlohmann::json& json, const std::string& path);

}  // namespace trireme::report
