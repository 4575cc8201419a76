#include "adapt/clock_sweep.hpp"

#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/policy/clock_sweep.hpp"
#include "trireme/policy/describe_slowness.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/clocks.hpp"

namespace trireme::adapt {
namespace {

bool are_complete(const plan::ClockCosts& costs) {
    return std::ranges::none_of(costs.replicas, [](const plan::ReplicaCosts& replica) {
        return policy::find_next_clock(replica).has_value();
    });
}

// Returns the clock of the first pass of each kind of replica. `kinds` has the kind of each team.
std::vector<int> find_current_clocks(const plan::Plan& plan, const std::vector<std::size_t>& kinds) {
    std::vector<int> clocks(1 + *std::ranges::max_element(kinds));
    for (std::size_t team = 0; team < kinds.size(); ++team) {
        const schedule::Program& program = plan.training.programs[team];
        const auto first = std::ranges::find(program, schedule::Op::set_clock, &schedule::Instruction::op);
        if (first != program.end()) clocks[kinds[team]] = first->mhz;
    }
    return clocks;
}

// Returns the costs of a team in one step at clock `mhz`. `slowness` is how many times longer its kernels took
// than usual.
plan::ClockCost measure_team(const records::StepOutcome& outcome, const plan::Plan& plan, std::size_t team,
                             int mhz, double slowness) {
    plan::ClockCost cost{.mhz = mhz, .step_seconds = outcome.seconds};
    double longest_kernels = 0, kernel_seconds = 0, kernel_joules = 0, wait_seconds = 0, wait_joules = 0;
    for (const int rank : plan.teams[team].ranks) {
        const auto r = static_cast<std::size_t>(rank);
        const plan::RankTimes& times = outcome.ranks[r];
        const records::EnergyPhases& energy = outcome.energy_of_ranks[r];
        cost.forward = std::max(cost.forward, outcome.pass_times[r].forward / slowness);
        cost.backward = std::max(cost.backward, outcome.pass_times[r].backward / slowness);
        cost.joules += energy.sum();
        longest_kernels = std::max(longest_kernels, times.busy() / slowness);
        kernel_seconds += times.busy();
        kernel_joules += energy.compute;
        wait_seconds += times.waits.sum();
        wait_joules += energy.blocked;
    }
    const auto ranks = static_cast<double>(plan.teams[team].ranks.size());
    const double idle_watts = wait_seconds > 0 ? wait_joules / wait_seconds : 0;  // of a device
    const auto microbatches = static_cast<double>(
        std::ranges::count(plan.training.programs[team], schedule::Op::forward, &schedule::Instruction::op));
    const double passes = microbatches * (cost.forward + cost.backward);
    cost.update = std::max(0.0, longest_kernels - passes);
    cost.idle_watts = ranks * idle_watts;
    cost.busy_watts = cost.idle_watts + std::max(0.0, kernel_joules - idle_watts * kernel_seconds) /
                                            (slowness * (passes + cost.update));
    return cost;
}

}  // namespace

bool ClockSweep::has_costs_of(const setup::PlanState& state) const {
    const plan::ClockCosts kinds = list_replica_kinds(job_, state);
    return origin_.clock_costs.stages == kinds.stages && origin_.clock_costs.frozen == kinds.frozen &&
           std::ranges::equal(origin_.clock_costs.replicas, kinds.replicas,
                              [](const plan::ReplicaCosts& one, const plan::ReplicaCosts& other) {
                                  return one.is_of_same_replicas(other);
                              });
}

bool ClockSweep::is_running() const {
    if (!sweeps_clocks(job_) || !job_.config.policy.decisions.empty()) return false;
    return !has_costs_of(current_) || !are_complete(origin_.clock_costs);
}

const plan::ClockCosts* ClockSweep::find_costs(const setup::PlanState& state) const {
    if (!sweeps_clocks(job_) || !has_costs_of(state) || !are_complete(origin_.clock_costs)) return nullptr;
    return &origin_.clock_costs;
}

void ClockSweep::observe(const records::StepOutcome& outcome, const std::vector<double>& slowness) {
    if (!is_running() || outcome.energy_of_ranks.empty()) return;
    if (policy::has_slowness_changed(sampled_slowness_, slowness)) samples_.clear();
    sampled_slowness_ = slowness;
    const plan::Plan& plan = current_.plan;
    if (!has_costs_of(current_)) {
        origin_.clock_costs = list_replica_kinds(job_, current_);
        samples_.clear();
    }
    const std::vector<std::size_t> kinds =
        setup::match_replicas(origin_.clock_costs, plan, setup::list_devices(job_));
    samples_.resize(origin_.clock_costs.replicas.size());
    const std::vector<int> clocks = find_current_clocks(plan, kinds);
    std::vector<std::vector<plan::ClockCost>> of_kinds(samples_.size());
    for (std::size_t team = 0; team < kinds.size(); ++team) {
        double slowest = 1;
        for (const int rank : plan.teams[team].ranks)
            if (!slowness.empty()) slowest = std::max(slowest, slowness[static_cast<std::size_t>(rank)]);
        of_kinds[kinds[team]].push_back(measure_team(outcome, plan, team, clocks[kinds[team]], slowest));
    }
    for (std::size_t kind = 0; kind < of_kinds.size(); ++kind)
        samples_[kind].push_back(policy::average_costs(of_kinds[kind]));
}

// Returns the clock of each kind of replica that the sweep measures now: the last measured one if it measures
// no more clocks of this kind.
std::vector<int> ClockSweep::find_requested_clocks() const {
    std::vector<int> clocks;
    for (const plan::ReplicaCosts& replica : origin_.clock_costs.replicas) {
        const std::optional<int> mhz = policy::find_next_clock(replica);
        clocks.push_back(mhz ? *mhz : replica.measured.back().mhz);
    }
    return clocks;
}

plan::Decision ClockSweep::make_decision(std::size_t step, std::string reason) const {
    const plan::Plan& plan = current_.plan;
    return {.step = step,
            .layout = plan.layout,
            .skipped = plan.skipped,
            .migrations = plan.migrations,
            .policy = plan::sweep_policy,
            .reason = std::move(reason)};
}

std::optional<plan::Decision> ClockSweep::decide(std::size_t step) {
    last_step_ = step;
    if (samples_.empty() || samples_.front().size() < policy::sweep_steps_per_clock) return std::nullopt;
    std::vector<plan::ReplicaCosts>& replicas = origin_.clock_costs.replicas;
    plan::Plan lowered = current_.plan;
    const std::vector<std::size_t> kinds =
        setup::match_replicas(origin_.clock_costs, lowered, setup::list_devices(job_));
    if (find_requested_clocks() == find_current_clocks(lowered, kinds)) {
        for (std::size_t kind = 0; kind < replicas.size(); ++kind)
            if (policy::find_next_clock(replicas[kind]))
                replicas[kind].measured.push_back(policy::average_costs(samples_[kind]));
    }
    samples_.clear();
    if (are_complete(origin_.clock_costs)) return make_decision(step, describe_end());
    const std::vector<int> next = find_requested_clocks();
    set_pass_clocks([&](int team, const auto&) { return next[kinds[static_cast<std::size_t>(team)]]; },
                    lowered);
    const auto unfinished = std::ranges::find_if(replicas, [](const plan::ReplicaCosts& replica) {
        return policy::find_next_clock(replica).has_value();
    });
    plan::Decision decision =
        make_decision(step, cat("measures costs at ", *policy::find_next_clock(*unfinished), " MHz"));
    decision.clocks = list_pass_clocks(lowered);
    return decision;
}

void ClockSweep::restart() {
    if (!is_running()) return;
    origin_.clock_costs = {};
    samples_.clear();
}

std::string ClockSweep::describe_lack() const {
    if (!is_running()) return {};
    return "the run has ended before the costs at all clocks were measured, so that no clocks were chosen";
}

std::string ClockSweep::describe_end() const {
    std::size_t clocks = 0;
    for (const plan::ReplicaCosts& replica : origin_.clock_costs.replicas)
        clocks = std::max(clocks, replica.measured.size());
    return cat("the costs at ", format_count(clocks, "clock"), " are measured");
}

}  // namespace trireme::adapt
