// Comparison of several schedules for one run, without starting it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {

// The forecast of one schedule, or the reason why there is none.
struct Compared {
    std::string name;                  // "interleaved:2"
    std::optional<Forecast> forecast;  // empty if the schedule cannot be planned
    std::string refusal;               // the reason, if there is no forecast
    std::string unit;  // of costs and of the time of a step: "s", "GFLOP", or "cost units" of --cost
};

// Forecasts each schedule of config.compare. An entry is the name of a schedule or a file; "interleaved:2"
// sets the stages per rank, which default to --chunks or 2. "all" stands for all schedules. Without --cost
// and --profile, a stage costs its arithmetic. --cost has the costs of one stage per rank; with more stages
// per rank each gets an equal fraction. Starts nothing. Throws ConfigError if no schedule can be planned, or
// for an unknown schedule.
std::vector<Compared> compare(const PlanConfig& config);

// Format the comparison: as a table with the refused schedules and the reasons, as a JSON array,
// and as CSV with a header.
std::string to_string(const std::vector<Compared>& schedules);
std::string json_of(const std::vector<Compared>& schedules);
std::string csv_of(const std::vector<Compared>& schedules);

}  // namespace trireme::tools
