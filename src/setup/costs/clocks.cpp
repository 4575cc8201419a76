#include "trireme/setup/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/policy/clocks.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_costs.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::setup {
namespace {

// Returns the position of a CLOCK of a team in the schedule file of the plan, for example "cell 3 of program
// 1". Empty cells are not counted.
std::string describe_cell(const plan::Plan& plan, std::size_t team, const schedule::Instruction& clock) {
    const schedule::Phases programs =
        schedule::parse_phases_csv(read_regular_file(plan.schedule, "--schedule"), plan.schedule);
    std::size_t line = team;
    for (std::size_t other = 0; other < programs.body.size(); ++other) {
        // A file may also have one line per rank.
        if (programs.body.size() != plan.teams.size() && std::ranges::count(programs.body[other], clock) > 0)
            line = other;
    }
    std::size_t cell = 1;
    for (const schedule::Program* const program : {&programs.prologue[line], &programs.body[line]}) {
        const auto found = std::ranges::find(*program, clock);
        cell += static_cast<std::size_t>(found - program->begin());
        if (found != program->end()) break;
        cell += program->empty() ? 0 : 1;  // the cell BODY follows the prologue
    }
    return cat("cell ", cell, " of program ", line + 1);
}

// Throws ConfigError if a CLOCK of the program is not in `mhz`, the clocks of the team.
void check_listed_clocks(const plan::Plan& plan, std::size_t team, const schedule::Program& program,
                         const std::vector<int>& mhz) {
    for (const schedule::Instruction& each : program) {
        if (each.op != schedule::Op::set_clock || std::ranges::find(mhz, each.mhz) != mhz.end()) continue;
        const int nearest =
            *std::ranges::min_element(mhz, {}, [&](int clock) { return std::abs(clock - each.mhz); });
        throw ConfigError(cat(to_string(each), " in ", describe_cell(plan, team, each), " of ", plan.schedule,
                              " is not a clock of the device of rank ", plan.teams[team].ranks.front(),
                              "; the nearest one is ", nearest, " MHz"));
    }
}

bool are_alike(std::span<const plan::DeviceClock> a, std::span<const plan::DeviceClock> b) {
    return std::ranges::equal(a, b, [](const plan::DeviceClock& one, const plan::DeviceClock& other) {
        return one.mhz == other.mhz && one.speed == other.speed;
    });
}

// Throws ConfigError if the clocks of a rank are not known, or if the ranks of a team have different clocks.
// `setter` is what sets the clocks.
void check_team_clocks(const std::vector<layout::Team>& teams, const std::string& setter,
                       const RankClocks& find_clocks) {
    for (const layout::Team& team : teams) {
        const std::span<const plan::DeviceClock> first = find_clocks(team.ranks.front());
        if (first.empty())
            throw ConfigError(
                cat(setter, " sets clocks, but the clocks and watts of the device of rank ", team.ranks.front(),
                    " are not known; name a file that lists them (device.clocks) with --cluster"));
        for (const int rank : team.ranks) {
            if (are_alike(first, find_clocks(rank))) continue;
            throw ConfigError(
                cat(setter, " sets equal clocks for rank ", team.ranks.front(), " and rank ", rank,
                    ", which hold a replica together, but their devices have different clocks; use "
                    "another layout"));
        }
    }
}

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

std::vector<schedule::TeamClocks> list_team_clocks(const std::vector<layout::Team>& teams,
                                                   const RankClocks& find_clocks) {
    std::vector<schedule::TeamClocks> all;
    for (const layout::Team& team : teams) {
        const std::span<const plan::DeviceClock> first = find_clocks(team.ranks.front());
        if (first.empty()) return {};
        schedule::TeamClocks& clocks = all.emplace_back();
        for (const plan::DeviceClock& each : first)
            clocks.mhz.push_back(static_cast<int>(std::lround(each.mhz)));
        clocks.idle_watts.resize(first.size());
        for (const int rank : team.ranks) {
            const std::span<const plan::DeviceClock> of_rank = find_clocks(rank);
            if (!are_alike(of_rank, first)) return {};
            for (std::size_t k = 0; k < of_rank.size(); ++k) clocks.idle_watts[k] += of_rank[k].idle_watts;
        }
    }
    return all;
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

void check_clocks(const plan::Plan& plan, config::Energy energy, const RankClocks& find_clocks) {
    const schedule::Phases phases = plan.training.phases();
    const bool is_uniform = energy == config::Energy::uniform;
    const bool has_clocks = sets_clocks(phases);
    if (!is_uniform && !has_clocks) return;
    if (is_uniform && has_clocks)
        throw ConfigError(
            cat(plan.schedule, " sets clocks itself; remove --energy uniform or its CLOCK cells"));
    check_team_clocks(plan.teams, is_uniform ? "--energy uniform" : plan.schedule, find_clocks);
    const std::vector<schedule::TeamClocks> clocks = list_team_clocks(plan.teams, find_clocks);
    for (const std::vector<schedule::Program>* const phase : {&phases.prologue, &phases.body})
        for (std::size_t team = 0; team < phase->size(); ++team)
            check_listed_clocks(plan, team, (*phase)[team], clocks[team].mhz);
}

// Clocks wait for nothing, so that the proof of the programs holds for all clocks.
plan::Plan set_uniform_clocks(plan::Plan plan, const schedule::StepCosts& costs) {
    std::vector<std::vector<int>> candidates;  // per team: clocks in MHz
    std::size_t max_candidates = 0;
    for (const schedule::TeamClocks& clocks : costs.clocks()) {
        candidates.push_back(policy::list_candidate_clocks(clocks.mhz));
        max_candidates = std::max(max_candidates, candidates.back().size());
    }
    const auto find_mhz = [&](std::size_t team, std::size_t candidate) {
        return candidates[team][std::min(candidate, candidates[team].size() - 1)];
    };
    std::vector<std::vector<double>> joules;
    for (std::size_t candidate = 0; candidate < max_candidates; ++candidate) {
        const schedule::Phases phases = set_clocks(plan.training.phases(), [&](int team, const auto&) {
            return find_mhz(static_cast<std::size_t>(team), candidate);
        });
        joules.push_back(predict_step(phases, plan.training.shape, costs).joules);
    }
    const std::vector<std::size_t> best = policy::find_best_clocks(joules);
    schedule::Phases phases = set_clocks(plan.training.phases(), [&](int team, const auto&) {
        return find_mhz(static_cast<std::size_t>(team), best[static_cast<std::size_t>(team)]);
    });
    plan.training.prologue = std::move(phases.prologue);
    plan.training.programs = std::move(phases.body);
    return plan;
}

void choose_clocks(const Job& job, int ranks, PlanState& current) {
    const config::PolicyConfig& policy = job.config.policy;
    const bool is_uniform = policy.energy == config::Energy::uniform;
    if (!is_uniform && !sets_clocks(current.plan.training.phases())) return;
    const std::string setter = is_uniform ? "--energy uniform" : current.plan.schedule;
    if (!device::time_is_simulated())
        throw ConfigError(cat(setter,
                              " sets clocks during a step, which only `trireme plan` and `trireme simulate` "
                              "can do; ",
                              is_uniform ? "remove --energy" : "remove its CLOCK cells"));
    const char* const changing_option = policy.straggler != config::StragglerPolicy::off ? "--straggler"
                                        : policy.elastic != config::Elastic::off         ? "--elastic"
                                        : !policy.decisions.empty()                      ? "--decisions"
                                                                                         : nullptr;
    if (changing_option != nullptr)
        throw ConfigError(cat(setter, " sets clocks, which needs a plan that stays; remove ", changing_option));
    const Machine machine = choose_machine(job, ranks);
    check_clocks(current.plan, policy.energy, [&](int rank) { return machine.find_clocks(rank); });
    if (!is_uniform) return;
    StepPlanner planner(job, current);
    std::vector<plan::MicrobatchShape> shapes;
    for (const stage::BatchShape& shape : planner.list_shapes(0)) shapes.push_back(count_shape(shape));
    const PricedPlan priced = make_priced_plan(job, current);
    const schedule::StepCosts costs =
        StepCostPredictor(priced, machine).predict_at_all_clocks(shapes, planner.plan_step(0).fit.levels);
    current.plan = set_uniform_clocks(std::move(current.plan), costs);
}

void refuse_decided_clocks(const plan::Plan& plan) {
    if (sets_clocks(plan.training.phases()))
        throw ConfigError(cat("a changed plan cannot set clocks, but ", plan.schedule, " has CLOCK cells"));
}

}  // namespace trireme::setup
