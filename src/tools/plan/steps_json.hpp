// The steps of a forecast as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {

// Returns a list with one object per step.
nlohmann::ordered_json list_steps(const Forecast& forecast);

}  // namespace trireme::tools
