#include "trireme/setup/energy_clocks.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "trireme/policy/clocks.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::setup {
namespace {

// The clocks of --energy for the passes of a plan.
struct EnergyClocks {
    std::vector<std::vector<int>> candidates;  // per team: MHz, highest first
    std::vector<std::size_t> best = {};        // per team: index of the candidate of most passes
    // Per team: the passes that have the highest clock.
    std::vector<std::set<schedule::Instruction>> at_highest_clock;

    int find_candidate(std::size_t team, std::size_t candidate) const {
        return candidates[team][std::min(candidate, candidates[team].size() - 1)];
    }
    int find_best(std::size_t team) const { return find_candidate(team, best[team]); }
    int find_mhz(int team_index, const schedule::Instruction& pass) const {
        const auto team = static_cast<std::size_t>(team_index);
        return at_highest_clock[team].contains(pass) ? candidates[team].front() : find_best(team);
    }
};

// Returns the kinds of the passes of a program.
std::vector<schedule::Op> list_passes(const schedule::Program& program) {
    std::vector<schedule::Op> passes;
    for (const schedule::Instruction& each : program)
        if (is_compute(each.op)) passes.push_back(each.op);
    return passes;
}

// Returns, for each team, the first team with the same stages, clocks and order of passes.
std::vector<std::size_t> find_groups(const plan::Plan& plan, const std::vector<schedule::TeamClocks>& clocks) {
    std::vector<std::vector<schedule::Op>> passes;
    for (const schedule::Program& program : plan.training.programs) passes.push_back(list_passes(program));
    const auto have_equal_work = [&](std::size_t a, std::size_t b) {
        return plan.teams[a].stages == plan.teams[b].stages && clocks[a] == clocks[b] && passes[a] == passes[b];
    };
    std::vector<std::size_t> groups;
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        std::size_t group = 0;
        while (group < team && !have_equal_work(group, team)) ++group;
        groups.push_back(group);
    }
    return groups;
}

// Returns the stage whose passes all keep the highest clock: the last one, or that of the slowest team.
int find_envelope_stage(const plan::Plan& plan, const std::vector<double>& team_slowness) {
    if (team_slowness.empty()) return plan.training.shape.stages() - 1;
    const auto slowest = std::ranges::max_element(team_slowness);
    return plan.teams[static_cast<std::size_t>(slowest - team_slowness.begin())].stages.front();
}

EnergyClocks choose_energy_clocks(const plan::Plan& plan, const schedule::StepCosts& costs,
                                  config::Energy energy, int envelope_stage) {
    const schedule::PipelineShape& shape = plan.training.shape;
    const std::size_t teams = plan.teams.size();
    EnergyClocks clocks{.candidates = {},
                        .at_highest_clock = std::vector<std::set<schedule::Instruction>>(teams)};
    std::size_t max_candidates = 0;
    for (std::size_t team = 0; team < teams; ++team) {
        std::vector<int>& candidates =
            clocks.candidates.emplace_back(policy::list_candidate_clocks(costs.clocks()[team].mhz));
        const bool is_in_envelope = shape.is_holder(static_cast<int>(team), envelope_stage);
        if (energy == config::Energy::envelope && is_in_envelope) candidates.resize(1);
        max_candidates = std::max(max_candidates, candidates.size());
        if (energy != config::Energy::envelope) continue;
        for (const schedule::Instruction& pass :
             policy::list_envelope(plan.training.programs[team], is_in_envelope))
            clocks.at_highest_clock[team].insert(pass);
    }
    std::vector<std::size_t> groups(teams);  // teams of a group have equal clocks
    std::iota(groups.begin(), groups.end(), std::size_t{0});
    if (energy == config::Energy::envelope) groups = find_groups(plan, costs.clocks());
    std::vector<std::vector<double>> joules(max_candidates, std::vector<double>(teams));  // [candidate][group]
    for (std::size_t candidate = 0; candidate < max_candidates; ++candidate) {
        const schedule::Phases phases = set_clocks(plan.training.phases(), [&](int team, const auto&) {
            return clocks.find_candidate(static_cast<std::size_t>(team), candidate);
        });
        const std::vector<double> of_teams = predict_step(phases, shape, costs).joules;
        for (std::size_t team = 0; team < teams; ++team) joules[candidate][groups[team]] += of_teams[team];
    }
    const std::vector<std::size_t> best_of_groups = policy::find_best_clocks(joules);
    for (const std::size_t group : groups) clocks.best.push_back(best_of_groups[group]);
    return clocks;
}

void set_energy_clocks(const EnergyClocks& clocks, plan::Plan& plan) {
    set_pass_clocks([&](int team, const schedule::Instruction& pass) { return clocks.find_mhz(team, pass); },
                    plan);
}

// Returns the number of forwards before the first backward.
int count_warm_up(const schedule::Program& program) {
    const auto is_forward = [](const schedule::Instruction& each) { return each.op == schedule::Op::forward; };
    const auto first_backward = std::ranges::find(program, schedule::Op::backward, &schedule::Instruction::op);
    return static_cast<int>(std::count_if(program.begin(), first_backward, is_forward));
}

// Returns one entry per stage of a plan without extra forwards.
std::vector<policy::WarmUpFacts> list_warm_up_facts(const plan::Plan& plan, const schedule::StepCosts& costs,
                                                    const EnergyClocks& clocks) {
    const schedule::PipelineShape& shape = plan.training.shape;
    std::vector<policy::WarmUpFacts> facts;
    for (int stage = 0; stage < shape.stages(); ++stage) {
        policy::WarmUpFacts& of_stage = facts.emplace_back();
        of_stage.max_extra = shape.microbatches;
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            const int warm_up = count_warm_up(plan.training.programs[static_cast<std::size_t>(team)]);
            of_stage.max_extra = std::min(of_stage.max_extra, shape.count_turns(team, stage) - warm_up);
        }
        for (int m = 0; m < shape.microbatches; ++m) {
            if (costs.is_empty(m)) continue;
            const auto team = static_cast<std::size_t>(shape.find_executor(stage, m));
            const std::size_t clock = costs.clocks()[team].find_index(clocks.find_best(team));
            of_stage.backward_seconds += costs.find(stage, m).find_time(schedule::Op::backward);
            of_stage.forward_seconds += costs.find(stage, m, clock).find_time(schedule::Op::forward);
        }
    }
    return facts;
}

// Returns the plan with the extra forwards of schedule `envpipe`, which memory limits. Returns the plan itself
// if its slots for any durations of passes do not fit.
plan::Plan add_extra_forwards(const plan::Plan& plan, const schedule::StepCosts& costs,
                              const EnergyClocks& clocks, const PlannedRun& run) {
    const std::vector<policy::WarmUpFacts> facts = list_warm_up_facts(plan, costs, clocks);
    plan::Plan longer = keep_fewer_activations(run, [&](const std::vector<int>& max_activations) {
        std::vector<policy::WarmUpFacts> within_memory = facts;
        for (std::size_t team = 0; team < max_activations.size(); ++team) {
            const int most = max_activations[team] - plan.training.proof.peak_activations[team];
            for (const int stage : plan.teams[team].stages) {
                int& max_extra = within_memory[static_cast<std::size_t>(stage)].max_extra;
                max_extra = std::min(max_extra, most);
            }
        }
        plan::Plan trial = plan;
        set_extra_forwards(policy::compute_extra_forwards(within_memory), trial);
        return trial;
    });
    return find_plan_within_limit(std::move(longer), run).value_or(plan);
}

}  // namespace

plan::Plan add_slots_for_clocks(plan::Plan plan, const PlannedRun& run) {
    if (!schedule::is_1f1b(plan.schedule)) return plan;
    plan::Plan prepared = plan;
    set_extra_forwards(plan.training.shape.extra_forwards, prepared);
    return find_plan_within_limit(std::move(prepared), run).value_or(std::move(plan));
}

plan::Plan join_short_clocks(plan::Plan plan, const schedule::StepCosts& costs, double min_seconds) {
    if (min_seconds == 0 || !sets_clocks(plan.training.phases())) return plan;
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

// A CLOCK waits for nothing, so the proof of the programs holds for any clocks.
plan::Plan choose_energy(plan::Plan plan, const schedule::StepCosts& costs, const PlannedRun& run,
                         const std::vector<double>& team_slowness) {
    const config::PolicyConfig& policy = run.config.policy;
    if (policy.energy != config::Energy::baseline) {
        const EnergyClocks clocks =
            choose_energy_clocks(plan, costs, policy.energy, find_envelope_stage(plan, team_slowness));
        const bool has_extra_forwards = !plan.training.shape.extra_forwards.empty();
        if (schedule::takes_extra_forwards(plan.schedule) && !has_extra_forwards)
            plan = add_extra_forwards(plan, costs, clocks, run);
        else
            plan = add_slots_for_clocks(std::move(plan), run);
        set_energy_clocks(clocks, plan);
    }
    return join_short_clocks(std::move(plan), costs, policy.clock_every);
}

std::vector<policy::ClockedTeam> list_clocked_teams(const plan::Plan& plan,
                                                    const std::vector<schedule::TeamClocks>& clocks) {
    const std::vector<std::size_t> groups = find_groups(plan, clocks);
    std::vector<policy::ClockedTeam> teams;
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        policy::ClockedTeam& clocked = teams.emplace_back(
            policy::ClockedTeam{.passes = {}, .mhz = {}, .clocks = clocks[team].mhz, .group = groups[team]});
        int mhz = clocks[team].mhz.front();
        for (const schedule::Instruction& each : plan.training.programs[team]) {
            if (each.op == schedule::Op::set_clock) mhz = each.mhz;
            if (!is_compute(each.op)) continue;
            clocked.passes.push_back(each);
            clocked.mhz.push_back(mhz);
        }
    }
    return teams;
}

void set_team_clocks(const std::vector<policy::ClockedTeam>& teams, plan::Plan& plan) {
    std::vector<std::size_t> next_passes(teams.size());
    plan.training.programs =
        set_clocks(plan.training.phases(), [&](int team_index, const schedule::Instruction&) {
            const auto team = static_cast<std::size_t>(team_index);
            return teams[team].mhz[next_passes[team]++];
        }).body;
}

policy::RaiseRule find_raise_rule(const config::PolicyConfig& policy) {
    return policy.reconfigure == config::Reconfigure::greedy ? policy::RaiseRule::greedy
                                                             : policy::RaiseRule::balanced;
}

PredictedReconfiguration predict_reconfiguration(plan::Plan plan, const schedule::StepCosts& costs,
                                                 const config::PolicyConfig& policy) {
    PredictedReconfiguration result{.plan = std::move(plan)};
    if (!reconfigures(policy.energy, policy.reconfigure)) return result;
    plan::ProvedPrograms& training = result.plan.training;
    std::size_t quiet_steps = 0;
    while (quiet_steps <= policy::max_quiet_steps) {
        std::vector<policy::ClockedTeam> teams = list_clocked_teams(result.plan, costs.clocks());
        const schedule::Prediction step = predict(training.programs, training.shape, costs);
        const std::vector<policy::PassOfTeam> path =
            find_critical_path(training.shape, teams, list_waits(step, teams), /*threshold=*/0);
        ++result.steps;
        ++quiet_steps;
        if (!raise_clocks(find_raise_rule(policy), path, teams)) continue;
        quiet_steps = 0;
        set_team_clocks(teams, result.plan);
        result.plan = join_short_clocks(std::move(result.plan), costs, policy.clock_every);
    }
    return result;
}

}  // namespace trireme::setup
