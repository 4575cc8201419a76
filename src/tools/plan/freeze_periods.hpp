// The steps of a run whose number of frozen blocks follows --freeze.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {

// Returns one entry per period, up to the period after which no more blocks freeze, or up to the end of the run
// if the number of its periods is known. `first` is the forecast of the first step. Empty without --freeze.
std::vector<PeriodForecast> forecast_periods(const PlanConfig& config, const Forecast& first);

std::string format_periods(const Forecast& forecast);  // a table; empty without --freeze
nlohmann::ordered_json list_periods(const Forecast& forecast);

}  // namespace trireme::tools
