// Forecasts the decisions of a run whose layout follows the lengths of samples or the number of frozen blocks,
// without executing its steps.
#pragma once

#include <memory>
#include <optional>

#include "trireme/plan/decision.hpp"
#include "trireme/records/elastic_decision.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/step_predictor.hpp"

namespace trireme::adapt {

struct ForecastStep {
    std::size_t step = 0;                                  // from 0
    std::optional<plan::Decision> change = {};             // of the plan before the step, if it changes
    std::optional<records::ElasticDecision> elastic = {};  // about the plan of the step
    setup::PredictedStep predicted = {};                   // with the plan of the step
};

// Decides with the same code as a run. Links are those of --cluster or --profile, and changes of plan take the
// predicted times. With --change-times predicted, a simulated run without slow ranks decides equally.
class DecisionForecast {
public:
    // Throws the errors of check_first_layout() and choose_first_layout().
    DecisionForecast(setup::Setup setup, int ranks);
    ~DecisionForecast();

    // Forecasts the next step, beginning with the first one. Throws ConfigError if no plan can execute it.
    ForecastStep advance();
    // Returns the number of steps, above those of the last forecast, after which the number of frozen blocks
    // may change next; at most the number of all steps.
    std::size_t find_next_period() const;
    // Continues after `step` steps, as if the skipped steps had the plan of the last forecast.
    void skip_to(std::size_t step);

    const setup::Job& job() const;
    const setup::PlanState& current() const;  // plan of the last step, or of the options before the first step

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::adapt
