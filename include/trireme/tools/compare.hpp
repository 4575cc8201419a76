// Several schedules of one run, put side by side before any of them is started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {

struct Compared {
    std::string name;                  // "interleaved:2"
    std::optional<Forecast> forecast;  // none: it is not made for the layout
    std::string refusal;               // why
    std::string unit;  // of costs and of the step's time: "s", "GFLOP", or "cost units" of --cost
};

// Each of config.compare: the name of a schedule or a file, with the stages of a rank behind a colon where it
// takes several (otherwise --chunks, or 2); "all" are all names. Without --cost and --profile stages cost what
// their arithmetic does. --cost are those of a schedule with one stage on each rank; where there are more, each
// has its part. Starts nothing. Throws ConfigError for whatever keeps all schedules from being planned, and for
// a schedule that there is not.
std::vector<Compared> compare(const PlanConfig& config);

// A table, with what was refused and why; a JSON array; and lines of commas with a header.
std::string to_string(const std::vector<Compared>& schedules);
std::string json_of(const std::vector<Compared>& schedules);
std::string csv_of(const std::vector<Compared>& schedules);

}  // namespace trireme::tools
