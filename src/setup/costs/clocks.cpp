#include "trireme/setup/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/policy/clocks.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "trireme/setup/elastic_memory.hpp"
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

// The origin of the clocks of a plan. `setter` and `remedy` are parts of messages: its name, and how a user
// avoids it.
struct ClockSource {
    enum Kind { none, schedule, energy, decision } kind = none;
    std::string setter = {}, remedy = {};
};

ClockSource find_clock_source(const plan::Plan& plan, config::Energy energy) {
    const bool has_clocks = sets_clocks(plan.training.phases());
    if (energy == config::Energy::baseline) {
        if (!has_clocks) return {};
        return {ClockSource::schedule, plan.schedule, "remove its CLOCK cells"};
    }
    const bool is_envelope = energy == config::Energy::envelope;
    ClockSource source{ClockSource::energy, is_envelope ? "--energy envelope" : "--energy uniform",
                       "remove --energy"};
    if (has_clocks)
        throw ConfigError(
            cat(plan.schedule, " sets clocks itself; remove ", source.setter, " or its CLOCK cells"));
    if (is_envelope && plan.schedule != "1f1b")
        throw ConfigError(cat("--energy envelope needs --schedule 1f1b, but the schedule is ", plan.schedule));
    return source;
}

// Throws ConfigError if a CLOCK of the program is not in `mhz`, the clocks of the team.
void check_listed_clocks(const plan::Plan& plan, ClockSource::Kind source, std::size_t team,
                         const schedule::Program& program, const std::vector<int>& mhz) {
    for (const schedule::Instruction& each : program) {
        if (each.op != schedule::Op::set_clock || std::ranges::find(mhz, each.mhz) != mhz.end()) continue;
        const int nearest =
            *std::ranges::min_element(mhz, {}, [&](int clock) { return std::abs(clock - each.mhz); });
        const std::string where =
            source == ClockSource::schedule
                ? cat(to_string(each), " in ", describe_cell(plan, team, each), " of ", plan.schedule)
                : cat(each.mhz, " MHz in \"clocks\"");
        throw ConfigError(cat(where, " is not a clock of the device of rank ", plan.teams[team].ranks.front(),
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

// Throws ConfigError if a device does not have the clocks that `source` sets, or if its clocks are not known.
void check_clocks_of(const plan::Plan& plan, const ClockSource& source, const RankClocks& find_clocks) {
    if (source.kind == ClockSource::none) return;
    check_team_clocks(plan.teams, source.setter, find_clocks);
    const std::vector<schedule::TeamClocks> clocks = list_team_clocks(plan.teams, find_clocks);
    for (const std::vector<schedule::Program>* const phase : {&plan.training.prologue, &plan.training.programs})
        for (std::size_t team = 0; team < phase->size(); ++team)
            check_listed_clocks(plan, source.kind, team, (*phase)[team], clocks[team].mhz);
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

// Same as check_clocks_of(), for the devices of a real run.
void check_clocks_of_gpus(const Job& job, const ClockSource& source, const plan::Plan& plan) {
    if (job.gpu_clocks.empty())
        throw ConfigError(
            cat(source.setter,
                " sets clocks during a step, but Trireme cannot set the clock of a CPU; use GPUs, or "
                "`trireme simulate` with a cluster file that lists clocks (device.clocks)"));
    for (std::size_t rank = 0; rank < job.gpu_clocks.size(); ++rank) {
        if (job.gpu_clocks[rank].clocks.empty())
            throw ConfigError(cat(source.setter, " sets clocks, but those of the GPU of rank ", rank,
                                  " are not known: ", job.gpu_clocks[rank].unknown_because));
    }
    check_clocks_of(plan, source, [&](int rank) {
        return std::span<const plan::DeviceClock>(job.gpu_clocks[static_cast<std::size_t>(rank)].clocks);
    });
}

// Teams that have the same clocks: for each team, the first team with the same stages, clocks and turns. With
// --energy uniform, each team has its own.
std::vector<std::size_t> find_groups(const plan::Plan& plan, const schedule::StepCosts& costs,
                                     config::Energy energy) {
    const schedule::PipelineShape& shape = plan.training.shape;
    const auto have_equal_work = [&](std::size_t a, std::size_t b) {
        const std::vector<int>& stages = plan.teams[a].stages;
        const auto has_equal_turns = [&](int stage) {
            return shape.count_turns(static_cast<int>(a), stage) ==
                   shape.count_turns(static_cast<int>(b), stage);
        };
        return stages == plan.teams[b].stages && costs.clocks()[a] == costs.clocks()[b] &&
               std::ranges::all_of(stages, has_equal_turns);
    };
    std::vector<std::size_t> groups;
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        std::size_t group = 0;
        while (group < team && (energy != config::Energy::envelope || !have_equal_work(group, team))) ++group;
        groups.push_back(group);
    }
    return groups;
}

// Returns the plan with the clocks of --energy. Clocks wait for nothing, so that the proof of the programs
// holds for all clocks.
plan::Plan set_energy_clocks(plan::Plan plan, const schedule::StepCosts& costs, config::Energy energy) {
    const schedule::PipelineShape& shape = plan.training.shape;
    const std::size_t teams = plan.teams.size();
    std::vector<std::vector<int>> candidates;  // per team: clocks in MHz
    std::vector<std::set<schedule::Instruction>> at_highest_clock(teams);
    std::size_t max_candidates = 0;
    for (std::size_t team = 0; team < teams; ++team) {
        candidates.push_back(policy::list_candidate_clocks(costs.clocks()[team].mhz));
        const bool is_last = shape.is_holder(static_cast<int>(team), shape.stages() - 1);
        if (energy == config::Energy::envelope && is_last) candidates.back().resize(1);
        max_candidates = std::max(max_candidates, candidates.back().size());
        if (energy != config::Energy::envelope) continue;
        for (const schedule::Instruction& pass : policy::list_envelope(plan.training.programs[team], is_last))
            at_highest_clock[team].insert(pass);
    }
    const auto find_mhz = [&](std::size_t team, std::size_t candidate) {
        return candidates[team][std::min(candidate, candidates[team].size() - 1)];
    };
    const std::vector<std::size_t> groups = find_groups(plan, costs, energy);
    std::vector<std::vector<double>> joules(max_candidates, std::vector<double>(teams));  // [candidate][group]
    for (std::size_t candidate = 0; candidate < max_candidates; ++candidate) {
        const schedule::Phases phases = set_clocks(plan.training.phases(), [&](int team, const auto&) {
            return find_mhz(static_cast<std::size_t>(team), candidate);
        });
        const std::vector<double> of_teams = predict_step(phases, shape, costs).joules;
        for (std::size_t team = 0; team < teams; ++team) joules[candidate][groups[team]] += of_teams[team];
    }
    const std::vector<std::size_t> best = policy::find_best_clocks(joules);
    schedule::Phases phases =
        set_clocks(plan.training.phases(), [&](int team_index, const schedule::Instruction& pass) {
            const auto team = static_cast<std::size_t>(team_index);
            return at_highest_clock[team].contains(pass) ? candidates[team].front()
                                                         : find_mhz(team, best[groups[team]]);
        });
    plan.training.prologue = std::move(phases.prologue);
    plan.training.programs = std::move(phases.body);
    return plan;
}

// Returns the plan with fewer CLOCKs: see policy::join_short_runs().
plan::Plan join_short_clocks(plan::Plan plan, const schedule::StepCosts& costs, double min_seconds) {
    const schedule::PipelineShape& shape = plan.training.shape;
    for (std::vector<schedule::Program>* const phase : {&plan.training.prologue, &plan.training.programs}) {
        for (std::size_t team = 0; team < phase->size(); ++team) {
            const schedule::TeamClocks& clocks = costs.clocks()[team];
            const auto find_seconds = [&](const schedule::Instruction& pass, int mhz) {
                const int microbatch = pass.microbatch % shape.microbatches;
                if (costs.is_empty(microbatch)) return 0.0;
                return costs.find(pass.stage, microbatch, clocks.find_index(mhz)).find_time(pass.op);
            };
            schedule::Program& program = (*phase)[team];
            program = policy::join_short_runs(program, min_seconds, find_seconds);
        }
    }
    return plan;
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
    check_clocks_of(plan, find_clock_source(plan, energy), find_clocks);
}

plan::Plan set_planned_clocks(plan::Plan plan, const schedule::StepCosts& costs, config::Energy energy,
                              double min_seconds) {
    if (energy != config::Energy::baseline) plan = set_energy_clocks(std::move(plan), costs, energy);
    if (min_seconds > 0 && sets_clocks(plan.training.phases()))
        plan = join_short_clocks(std::move(plan), costs, min_seconds);
    return plan;
}

void choose_clocks(const Job& job, int ranks, PlanState& current, const plan::PassClocks& decided,
                   std::size_t step) {
    const config::RunConfig& config = job.config;
    if (!decided.empty()) set_pass_clocks(decided, current.plan);
    const ClockSource source = decided.empty()
                                   ? find_clock_source(current.plan, config.policy.energy)
                                   : ClockSource{ClockSource::decision, "the decision", "remove \"clocks\""};
    if (source.kind == ClockSource::none) return;
    if (is_elastic(config))
        throw ConfigError(cat(source.setter,
                              " sets clocks, but --elastic length compares layouts at their highest clocks; ",
                              source.remedy, " or --elastic"));
    if (!device::time_is_simulated()) return check_clocks_of_gpus(job, source, current.plan);
    const Machine machine = choose_machine(job, ranks);
    check_clocks_of(current.plan, source, [&](int rank) { return machine.find_clocks(rank); });
    const bool chooses_clocks = source.kind == ClockSource::energy;
    if (!chooses_clocks && config.policy.clock_every == 0) return;
    StepPlanner planner(job, current);
    std::vector<plan::MicrobatchShape> shapes;
    for (const stage::BatchShape& shape : planner.list_shapes(step)) shapes.push_back(count_shape(shape));
    const PricedPlan priced = make_priced_plan(job, current);
    const schedule::StepCosts costs =
        StepCostPredictor(priced, machine).predict_at_all_clocks(shapes, planner.plan_step(step).fit.levels);
    current.plan = set_planned_clocks(std::move(current.plan), costs,
                                      chooses_clocks ? config.policy.energy : config::Energy::baseline,
                                      config.policy.clock_every);
}

}  // namespace trireme::setup
