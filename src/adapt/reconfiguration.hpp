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
    // `job` and `current` must outlive the object. `quiet_steps` is the number of steps in a row in which a
    // resumed run has raised no clock.
    Reconfiguration(const setup::Job& job, const setup::PlanState& current, std::size_t quiet_steps)
        : job_(job), current_(current), quiet_steps_(quiet_steps) {}

    // True until the loop ends: the next call of decide() may raise clocks.
    bool is_running() const;
    // True if decide() may be or has been called after `step` steps. In a ghost run, ranks ask before and after
    // rank 0 decides.
    bool may_decide(std::size_t step) const { return is_running() || last_step_ == step; }
    std::size_t quiet_steps() const { return quiet_steps_; }

    void observe(const records::StepOutcome& outcome);
    // Returns the decision that raises clocks after `step` steps; nothing if none can be raised. Reads the
    // waits of the last observed step.
    std::optional<plan::Decision> decide(std::size_t step);
    // Begins the loop anew, because another decision has changed the plan.
    void restart();
    // Describes the end of the loop if the last call of decide() has ended it; an empty text otherwise.
    std::string describe_end(const setup::PlanOrigin& origin) const;

private:
    std::vector<plan::PassWaits> find_team_waits() const;

    const setup::Job& job_;
    const setup::PlanState& current_;
    std::size_t quiet_steps_;
    std::optional<std::size_t> last_step_ = {};         // of decide()
    std::vector<plan::PassWaits> waits_of_ranks_ = {};  // of the last step; empty before the first one
    double seconds_ = 0, joules_ = 0;                   // of the last step
};

}  // namespace trireme::adapt
