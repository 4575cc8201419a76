// Chooses changes of the clocks of devices, and of the order of passes, for --energy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapt/clock_sweep.hpp"
#include "adapt/reconfiguration.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/records/step_outcome.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

class EnergyChooser {
public:
    // The arguments must outlive the object, which changes the clocks and their costs in `origin`.
    EnergyChooser(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin& origin, int ranks);

    // True with --energy uniform or envelope.
    bool is_on() const { return job_.config.policy.energy != config::Energy::baseline; }
    // True while clocks may change after each step.
    bool decides_each_step() const { return sweep_.is_running() || reconfiguration_.is_running(); }
    // True if clocks may change after `step` steps, or if this was so before a decision about them.
    bool may_decide(std::size_t step) const {
        return sweep_.may_decide(step) || reconfiguration_.may_decide(step);
    }

    // `observed` is the observation before the step of `outcome`.
    void observe(const records::StepOutcome& outcome, const plan::Observation& observed);
    // Returns the decision that has priority over a change of layout: the next clock of a sweep, or, at a step
    // of the policy, other clocks because the slowness of a rank has changed. The change takes no time, and
    // ranks wait less until work has moved.
    std::optional<plan::Decision> decide_first(const plan::Observation& observed, bool is_policy_step);
    // Returns the decision of --reconfigure, if no other decision is due.
    std::optional<plan::Decision> decide_last(std::size_t step);
    // Sets the order and the clocks of a decision without clocks.
    void complete(const plan::Observation& observed, plan::Decision& decision);
    // Called when the plan has changed. `slowness` is that for which the plan was chosen.
    void note_change(const plan::Decision& decision, const std::vector<double>& slowness);

    // Explains that the run has ended before the clocks were chosen; an empty text if they were.
    std::string describe_lack() const { return sweep_.describe_lack(); }
    // Returns a description of the end of --reconfigure, if it has just ended, and clears it.
    std::string take_report() { return std::exchange(report_, ""); }

private:
    void add_energy(const plan::Observation& observed, setup::PlanState state, plan::Decision& decision);
    const plan::ClockCosts* find_costs(const setup::PlanState& state) const;
    plan::Observation relate_to_devices(plan::Observation observed) const;

    const setup::Job& job_;
    const setup::PlanState& current_;
    setup::PlanOrigin& origin_;
    int ranks_;
    std::optional<setup::Machine> machine_;  // with --energy in a simulation
    ClockSweep sweep_;
    Reconfiguration reconfiguration_;
    std::optional<setup::StepFigures> chosen_baseline_;  // becomes PlanOrigin::baseline if the plan changes
    std::string report_;                                 // that take_report() has not returned yet
};

}  // namespace trireme::adapt
