#include <algorithm>
#include <numeric>
#include <utility>

#include "trireme/setup/clocks.hpp"

namespace trireme::setup {
namespace {

// Returns the watts of all busy devices of a team beyond those of idle devices.
double add_busy_watts(const layout::Team& team, const RankClocks& find_clocks, std::size_t clock) {
    double watts = 0;
    for (const int rank : team.ranks) {
        const plan::DeviceClock& each = find_clocks(rank)[clock];
        watts += each.busy_watts - each.idle_watts;
    }
    return watts;
}

schedule::StageCost make_cost_at_clock(const schedule::StageCost& cost, double speed, double busy_watts) {
    schedule::StageCost slower = cost.at_speed(speed);
    slower.joules = {.forward = busy_watts * slower.forward,
                     .backward_input = busy_watts * slower.backward_input,
                     .backward_weight = busy_watts * slower.backward_weight,
                     .step = busy_watts * slower.step};
    return slower;
}

}  // namespace

std::optional<double> sum_joules(const plan::Plan& plan, const std::vector<double>& team_joules, double seconds,
                                 int ranks, const RankClocks& find_clocks) {
    double joules = std::accumulate(team_joules.begin(), team_joules.end(), 0.0);
    for (int rank = 0; rank < ranks; ++rank) {
        if (plan.find_team(rank) >= 0) continue;
        if (find_clocks(rank).empty()) return std::nullopt;
        joules += find_clocks(rank).front().idle_watts * seconds;
    }
    return joules;
}

schedule::StepCosts make_clocked_costs(const std::vector<schedule::StageCost>& stages, const plan::Plan& plan,
                                       const RankClocks& find_clocks) {
    std::vector<schedule::TeamClocks> clocks = list_team_clocks(plan.teams, find_clocks);
    if (clocks.empty()) return schedule::StepCosts(stages);
    const auto make_costs = [&](std::size_t clock) {
        std::vector<std::vector<schedule::StageCost>> costs(stages.size());
        for (std::size_t s = 0; s < stages.size(); ++s) {
            for (int m = 0; m < plan.microbatches(); ++m) {
                const int executor = plan.training.shape.find_executor(static_cast<int>(s), m);
                const layout::Team& team = plan.teams[static_cast<std::size_t>(executor)];
                const std::span<const plan::DeviceClock> of_team = find_clocks(team.ranks.front());
                const std::size_t index = std::min(clock, of_team.size() - 1);
                costs[s].push_back(make_cost_at_clock(stages[s], of_team[index].speed,
                                                      add_busy_watts(team, find_clocks, index)));
            }
        }
        return schedule::StepCosts(std::move(costs));
    };
    schedule::StepCosts costs = make_costs(0);
    costs.add_clocks(std::move(clocks), make_costs);
    return costs;
}

}  // namespace trireme::setup
