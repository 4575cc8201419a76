// Comparison of several schedules for one run, without starting the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {

// The forecast of one schedule, or the reason why there is none.
struct ComparedSchedule {
    std::string name;                            // for example "interleaved:2"
    std::optional<Forecast> forecast = {};       // empty if the schedule cannot be planned
    std::string refusal = {};                    // the reason, if there is no forecast
    std::string unit = "cost units";             // of costs and times: "cost units", "s" or "GFLOP"
    std::string cost_origin = "as --cost says";  // origin of the costs, for users
};

// Forecasts each schedule of config.compare. An entry is the name of a schedule, the path of a schedule file,
// or "all" for all schedules. "interleaved:2" is the schedule `interleaved` with two stages per rank. Without a
// number, interleaved schedules have --chunks or 2 stages per rank, whichever is larger. V-shaped schedules
// without a number have 2 stages per rank. If none of --cost, --cluster and --profile is given, the cost of a
// stage is its number of GFLOP per micro-batch. --cost states the costs of stages for schedules with one stage
// per rank. For a schedule with N stages per rank, each stage of --cost is split into N stages. The costs of
// the stage are divided evenly among the N stages, but the cost of a message stays the same. Starts no run.
// Throws ConfigError if no schedule can be planned, or for an unknown or malformed entry.
std::vector<ComparedSchedule> compare_schedules(const PlanConfig& config);

// Returns a table, followed by the schedules that cannot be planned and the reasons. At least one schedule must
// have a forecast.
std::string to_string(const std::vector<ComparedSchedule>& schedules);
// Return a JSON array of all schedules, and CSV with a header and the schedules that can be planned.
std::string to_json(const std::vector<ComparedSchedule>& schedules);
std::string to_csv(const std::vector<ComparedSchedule>& schedules);

}  // namespace trireme::tools
