// The sweep of --clock-costs: in the first steps of a run, measures the costs of passes at one clock after the
// other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/records/step_outcome.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

class ClockSweep {
public:
    // The arguments must outlive the object. observe(), decide() and restart() change PlanOrigin::clock_costs.
    ClockSweep(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin& origin)
        : job_(job), current_(current), origin_(origin) {}

    // True if costs are still missing. The current plan then has the clocks that the sweep has requested last,
    // or the highest ones.
    bool is_running() const;
    // True if decide() may be or has been called after `step` steps: see Reconfiguration::may_decide().
    bool may_decide(std::size_t step) const { return is_running() || last_step_ == step; }

    // Adds the measurements of a step. `slowness` is that of each rank (plan::Observation), or empty.
    void observe(const records::StepOutcome& outcome, const std::vector<double>& slowness);
    // Returns the decision to measure the next clock after `step` steps, once enough steps were measured. After
    // the last clock, is_running() is false, and the decision has no clocks.
    std::optional<plan::Decision> decide(std::size_t step);
    // Begins the sweep anew if it is running, because another decision has changed the plan.
    void restart();

    // Returns the costs of a sweep that has ended; null if there are none, or if they are those of other
    // replicas than those of `state`.
    const plan::ClockCosts* find_costs(const setup::PlanState& state) const;
    // Explains that the sweep has not ended; an empty text if it has, or if there is none.
    std::string describe_lack() const;

private:
    std::string describe_end() const;
    bool has_costs_of(const setup::PlanState& state) const;
    std::vector<int> find_requested_clocks() const;
    plan::Decision make_decision(std::size_t step, std::string reason) const;

    const setup::Job& job_;
    const setup::PlanState& current_;
    setup::PlanOrigin& origin_;
    std::optional<std::size_t> last_step_ = {};               // of decide()
    std::vector<std::vector<plan::ClockCost>> samples_ = {};  // per kind of replica: one entry per step
    std::vector<double> sampled_slowness_ = {};               // of each rank, for the samples
};

}  // namespace trireme::adapt
