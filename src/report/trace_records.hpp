// The content of trace.json, as far as a report draws it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::report {

struct TracedEvent {
    int rank = 0;
    std::string lane, name;
    double begin = 0, end = 0;  // milliseconds
    std::size_t step = 0;       // from 1
    bool is_instruction = false;
};

// The plan of the steps from `first_step` on.
struct TracedPlan {
    std::size_t first_step = 0;
    std::string schedule;
    std::vector<std::vector<int>> teams;      // ranks per team
    std::vector<schedule::Program> programs;  // per team; empty if steps overlap
    schedule::PipelineShape shape;            // unset if `programs` is empty
};

struct RunTrace {
    std::size_t first_step = 0, last_step = 0;
    std::size_t left_out = 0;  // number of events that had no room, over all ranks
    int ranks = 0;
    std::vector<TracedPlan> plans;
    std::vector<TracedEvent> events;
};

// Throws ConfigError, which names `path`, if the file does not have the form that `train` writes.
RunTrace trace_from(const nlohmann::json& json, const std::string& path);

}  // namespace trireme::report
