#include "adapt/reconfiguration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "trireme/device/clock.hpp"
#include "trireme/records/figures.hpp"
#include "trireme/setup/clocks.hpp"
#include "trireme/setup/energy_clocks.hpp"

namespace trireme::adapt {
namespace {

// Returns the seconds above which a pass has waited for its input. In simulated time, receives of messages that
// have arrived take no time. In a real step, some message has arrived before it is received, so that the
// shortest wait is the cost of a receive, which varies.
double find_threshold(const plan::Plan& plan, const std::vector<policy::ClockedTeam>& teams,
                      const std::vector<plan::MeasuredPasses>& times) {
    if (device::time_is_simulated()) return 0;
    constexpr double variation = 4;
    double shortest = std::numeric_limits<double>::infinity();
    for (std::size_t team = 0; team < teams.size(); ++team) {
        for (std::size_t pass = 0; pass < teams[team].passes.size(); ++pass) {
            const schedule::Instruction& each = teams[team].passes[pass];
            const int first_stage = each.op == schedule::Op::forward ? 0 : plan.training.shape.stages() - 1;
            if (each.stage != first_stage) shortest = std::min(shortest, times[team].waits[pass]);
        }
    }
    return variation * shortest;
}

const char* name_rule(config::Reconfigure reconfigure) {
    return reconfigure == config::Reconfigure::greedy ? "greedy" : "balanced";
}

// Returns for example "24.8 J and 0.331 s".
std::string describe_figures(const setup::StepFigures& figures) {
    return figures.joules ? fmt::format("{:.4g} J and {:.4g} s", *figures.joules, figures.seconds)
                          : fmt::format("{:.4g} s", figures.seconds);
}

}  // namespace

bool Reconfiguration::is_running() const {
    return reconfigures(job_.config.policy.energy, job_.config.policy.reconfigure) &&
           job_.config.policy.decisions.empty() && origin_.quiet_steps <= policy::max_quiet_steps;
}

void Reconfiguration::observe(const records::StepOutcome& outcome) {
    times_of_ranks_ = outcome.pass_times;
    seconds_ = outcome.seconds;
    joules_.reset();
    if (const auto energy = sum_energy(outcome.energy_of_ranks)) joules_ = energy->sum();
}

void Reconfiguration::restart() {
    origin_.quiet_steps = 0;
    times_of_ranks_.clear();
}

// A pass of a team begins when the input of all its ranks has arrived.
std::vector<plan::MeasuredPasses> Reconfiguration::find_team_times() const {
    std::vector<plan::MeasuredPasses> times;
    for (const layout::Team& team : current_.plan.teams) {
        plan::MeasuredPasses& longest = times.emplace_back();
        for (const int rank : team.ranks) {
            const plan::MeasuredPasses& of_rank = times_of_ranks_[static_cast<std::size_t>(rank)];
            longest.waits.resize(of_rank.waits.size());
            for (std::size_t pass = 0; pass < of_rank.waits.size(); ++pass)
                longest.waits[pass] = std::max(longest.waits[pass], of_rank.waits[pass]);
            longest.end = std::max(longest.end, of_rank.end);
        }
    }
    return times;
}

std::optional<plan::Decision> Reconfiguration::decide(std::size_t step) {
    last_step_ = step;
    if (!is_running() || times_of_ranks_.empty()) return std::nullopt;
    const plan::Plan& plan = current_.plan;
    std::vector<policy::ClockedTeam> teams =
        setup::list_clocked_teams(plan, setup::list_team_clocks(job_, plan.teams));
    const std::vector<plan::MeasuredPasses> times = find_team_times();
    const std::vector<policy::PassOfTeam> path =
        find_critical_path(plan.training.shape, teams, times, find_threshold(plan, teams, times));
    times_of_ranks_.clear();
    ++origin_.quiet_steps;
    const std::optional<int> raised_mhz = raise_clocks(setup::find_raise_rule(job_.config.policy), path, teams);
    if (!raised_mhz) return std::nullopt;
    origin_.quiet_steps = 0;
    plan::Plan raised = plan;
    setup::set_team_clocks(teams, raised);
    return plan::Decision{.step = step,
                          .layout = plan.layout,
                          .skipped = plan.skipped,
                          .migrations = plan.migrations,
                          .extra_forwards = plan.training.shape.extra_forwards,
                          .clocks = list_pass_clocks(raised),
                          .policy = plan::reconfigure_policy,
                          .reason = fmt::format("{}: raises {} MHz on the critical path",
                                                name_rule(job_.config.policy.reconfigure), *raised_mhz)};
}

std::string Reconfiguration::describe_end() const {
    if (origin_.quiet_steps != policy::max_quiet_steps + 1) return {};
    std::string text =
        fmt::format("{} reconfiguration has settled at {} a step", name_rule(job_.config.policy.reconfigure),
                    describe_figures({.seconds = seconds_, .joules = joules_}));
    if (origin_.baseline)
        text += fmt::format("; {} before clocks were set", describe_figures(*origin_.baseline));
    return text;
}

}  // namespace trireme::adapt
