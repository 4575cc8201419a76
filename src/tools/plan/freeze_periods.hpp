// The steps of a run whose number of frozen blocks follows --freeze.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {

// Returns one entry per period, up to the period after which no more blocks freeze, or up to the end of the run
// if the number of its periods is known. `first` is the forecast of the first step. Empty without --freeze.
// With --auto-pipe, each period has the layout to which --freeze schedule would lead. An epoch has 100 steps if
// there is no corpus.
std::vector<PeriodForecast> forecast_periods(const PlanConfig& config, const Forecast& first, int ranks);

std::string format_periods(const Forecast& forecast);  // a table; empty without --freeze
nlohmann::ordered_json list_periods(const Forecast& forecast);
nlohmann::ordered_json list_trajectory(const Forecast& forecast);  // with --auto-pipe

}  // namespace trireme::tools
