// What trace.json holds, as far as a report draws it.
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

// What steps were made with.
struct TracedPlan {
    std::size_t first_step = 0;
    std::string schedule;
    std::vector<std::vector<int>> teams;      // their ranks
    std::vector<schedule::Program> programs;  // of the teams; none: steps do not stand by themselves
    schedule::PipelineShape shape;            // likewise
};

struct RunTrace {
    std::size_t first_step = 0, last_step = 0;
    std::size_t left_out = 0;  // events, of all ranks
    int ranks = 0;
    std::vector<TracedPlan> plans;
    std::vector<TracedEvent> events;
};

// Throws ConfigError, naming `path`, where something is not as train writes it.
RunTrace trace_from(const nlohmann::json& json, const std::string& path);

}  // namespace trireme::report
