// The inputs of the forecast of a run on a corpus.
#pragma once

#include "tools/plan/forecast_costs.hpp"

namespace trireme::tools {

// Forecasts the first `steps` steps. If the layout follows the lengths of samples, also forecasts the changes
// of plan. Throws ConfigError if `train` would refuse the run, or if no plan can execute one of the steps.
ForecastInputs make_inputs_with_corpus(config::RunConfig run, int ranks, std::size_t steps);

}  // namespace trireme::tools
