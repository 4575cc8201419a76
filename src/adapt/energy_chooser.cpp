#include "adapt/energy_chooser.hpp"

#include <utility>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/policy/describe_slowness.hpp"
#include "trireme/policy/slowness_watch.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/energy_planning.hpp"

namespace trireme::adapt {

EnergyChooser::EnergyChooser(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin& origin,
                             int ranks)
    : job_(job),
      current_(current),
      origin_(origin),
      ranks_(ranks),
      sweep_(job, current, origin),
      reconfiguration_(job, current, origin) {
    if (is_on() && job.devices) machine_ = choose_machine(job, ranks);
}

// The observed slowness is relative to the median rank, but costs are those of each kind of device.
plan::Observation EnergyChooser::relate_to_devices(plan::Observation observed) const {
    if (!machine_) return observed;
    observed.slowness = find_slowness_on_machine(*machine_, std::move(observed.slowness));
    for (double& factor : observed.slowness)
        if (factor < policy::SlownessRules{}.slow_factor) factor = 1;
    return observed;
}

void EnergyChooser::observe(const records::StepOutcome& outcome, const plan::Observation& observed) {
    if (sweep_.is_running()) sweep_.observe(outcome, relate_to_devices(observed).slowness);
    reconfiguration_.observe(outcome);
}

std::optional<plan::Decision> EnergyChooser::decide_first(const plan::Observation& all_observed,
                                                          bool is_policy_step) {
    chosen_baseline_.reset();
    if (sweep_.is_running()) return sweep_.decide(all_observed.step);
    if (!is_on() || !is_policy_step) return std::nullopt;
    const plan::Observation observed = relate_to_devices(all_observed);
    if (!policy::has_slowness_changed(origin_.clocked_slowness, observed.slowness)) return std::nullopt;
    const plan::Plan& plan = current_.plan;
    plan::Decision decision{.step = observed.step,
                            .layout = plan.layout,
                            .skipped = plan.skipped,
                            .migrations = plan.migrations,
                            .policy = plan::energy_policy,
                            .reason = policy::describe_slowness(observed)};
    add_energy(observed, current_, decision);
    return decision;
}

std::optional<plan::Decision> EnergyChooser::decide_last(std::size_t step) {
    if (sweep_.is_running() || !reconfiguration_.is_running()) return std::nullopt;
    std::optional<plan::Decision> decision = reconfiguration_.decide(step);
    if (!reconfiguration_.is_running()) report_ = reconfiguration_.describe_end();
    return decision;
}

const plan::ClockCosts* EnergyChooser::find_costs(const setup::PlanState& state) const {
    return job_.clock_costs ? &*job_.clock_costs : sweep_.find_costs(state);
}

void EnergyChooser::complete(const plan::Observation& all_observed, plan::Decision& decision) {
    if (!is_on() || !decision.clocks.empty()) return;
    chosen_baseline_.reset();
    const plan::Observation observed = relate_to_devices(all_observed);
    std::string why;
    const auto state = try_make_state(job_, current_, ranks_, decision, why);
    const bool lacks_costs = state && sweeps_clocks(job_) && find_costs(*state) == nullptr;
    if (state && !lacks_costs) add_energy(observed, *state, decision);
    if (policy::is_any_rank_slow(observed))
        decision.causes.push_back(
            {.proposer = plan::energy_policy, .reason = policy::describe_slowness(observed)});
}

// The plan of the decision is that of `state`.
void EnergyChooser::add_energy(const plan::Observation& observed, setup::PlanState state,
                               plan::Decision& decision) {
    if (!state.plan.training.shape.extra_forwards.empty()) set_extra_forwards({}, state.plan);
    const plan::ClockCosts* const costs = find_costs(state);
    const setup::PlannedEnergy energy =
        plan_energy(job_, ranks_, state, observed.step, costs, observed.slowness);
    decision.extra_forwards = energy.plan.training.shape.extra_forwards;
    decision.clocks = list_pass_clocks(energy.plan);
    chosen_baseline_ = energy.before;
    // A sweep has measured messages, but not the ranks that hold no stage.
    if (sweeps_clocks(job_) && !policy::is_any_rank_slow(observed) && state.plan.layout.idle.empty()) {
        chosen_baseline_ = setup::find_measured_baseline(*costs, state.plan, setup::list_devices(job_));
        chosen_baseline_->min_joules = energy.before.min_joules;
    }
}

void EnergyChooser::note_change(const plan::Decision& decision, const std::vector<double>& slowness) {
    if (decision.policy == plan::reconfigure_policy) return;
    origin_.clocked_slowness = is_on() ? relate_to_devices({.slowness = slowness}).slowness : slowness;
    origin_.baseline = chosen_baseline_;
    reconfiguration_.restart();
    if (decision.policy != plan::sweep_policy) sweep_.restart();
}

}  // namespace trireme::adapt
