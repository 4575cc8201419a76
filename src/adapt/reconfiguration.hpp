// The loop of --reconfigure: raises clocks after each step, from the waits that the ranks have measured.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/policy/reconfigure.hpp"
#include "trireme/records/step_outcome.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

class Reconfiguration {
public:
    // The arguments must outlive the object. decide() and restart() change PlanOrigin::quiet_steps.
    Reconfiguration(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin& origin)
        : job_(job), current_(current), origin_(origin) {}

    // True until the loop ends: the next call of decide() may raise clocks.
    bool is_running() const;
    // True if decide() may be or has been called after `step` steps. In a ghost run, ranks ask before and after
    // rank 0 decides.
    bool may_decide(std::size_t step) const { return is_running() || last_step_ == step; }

    void observe(const records::StepOutcome& outcome);
    // Returns the decision that raises clocks after `step` steps; nothing if none can be raised. Reads the
    // waits of the last observed step.
    std::optional<plan::Decision> decide(std::size_t step);
    // Begins the loop anew, because another decision has changed the plan.
    void restart();
    // Describes the end of the loop if the last call of decide() has ended it; an empty text otherwise.
    std::string describe_end() const;

private:
    std::vector<plan::MeasuredPasses> find_team_times() const;

    const setup::Job& job_;
    const setup::PlanState& current_;
    setup::PlanOrigin& origin_;
    std::optional<std::size_t> last_step_ = {};              // of decide()
    std::vector<plan::MeasuredPasses> times_of_ranks_ = {};  // of the last step; empty before the first one
    double seconds_ = 0;                                     // of the last step
    std::optional<double> joules_ = {};                      // of the last step; empty if it was not metered
};

}  // namespace trireme::adapt
