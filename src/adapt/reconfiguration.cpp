#include "adapt/reconfiguration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trireme/records/figures.hpp"
#include "trireme/setup/clocks.hpp"
#include "trireme/setup/energy_clocks.hpp"

namespace trireme::adapt {
namespace {

constexpr double threshold = 0;  // simulated receives of messages that have arrived take no time

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
    waits_of_ranks_ = outcome.pass_waits;
    seconds_ = outcome.seconds;
    joules_.reset();
    if (const auto energy = sum_energy(outcome.energy_of_ranks)) joules_ = energy->sum();
}

void Reconfiguration::restart() {
    origin_.quiet_steps = 0;
    waits_of_ranks_.clear();
}

// A pass of a team begins when the input of all its ranks has arrived.
std::vector<plan::PassWaits> Reconfiguration::find_team_waits() const {
    std::vector<plan::PassWaits> waits;
    for (const layout::Team& team : current_.plan.teams) {
        plan::PassWaits& longest = waits.emplace_back();
        for (const int rank : team.ranks) {
            const plan::PassWaits& of_rank = waits_of_ranks_[static_cast<std::size_t>(rank)];
            longest.seconds.resize(of_rank.seconds.size());
            for (std::size_t pass = 0; pass < of_rank.seconds.size(); ++pass)
                longest.seconds[pass] = std::max(longest.seconds[pass], of_rank.seconds[pass]);
            longest.end = std::max(longest.end, of_rank.end);
        }
    }
    return waits;
}

std::optional<plan::Decision> Reconfiguration::decide(std::size_t step) {
    last_step_ = step;
    if (!is_running() || waits_of_ranks_.empty()) return std::nullopt;
    const plan::Plan& plan = current_.plan;
    std::vector<policy::ClockedTeam> teams =
        setup::list_clocked_teams(plan, setup::list_team_clocks(job_, plan.teams));
    const std::vector<policy::PassOfTeam> path =
        find_critical_path(plan.training.shape, teams, find_team_waits(), threshold);
    waits_of_ranks_.clear();
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
