#include "trireme/setup/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/policy/clock_sweep.hpp"
#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/energy_clocks.hpp"
#include "trireme/setup/energy_planning.hpp"
#include "trireme/setup/machine.hpp"

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

// Throws ConfigError if an option of EnvPipe is set, but the plan has another schedule than EnvPipe's.
void check_schedule_of_envpipe(const plan::Plan& plan, const config::PolicyConfig& policy) {
    if (schedule::is_1f1b(plan.schedule)) return;
    const auto refuse = [&](const char* option) {
        throw ConfigError(
            cat(option, " needs --schedule 1f1b or envpipe, but the schedule is ", plan.schedule));
    };
    if (policy.energy == config::Energy::envelope) refuse("--energy envelope");
    if (policy.reconfigure == config::Reconfigure::greedy) refuse("--reconfigure greedy");
    if (policy.reconfigure == config::Reconfigure::balanced) refuse("--reconfigure balanced");
}

ClockSource find_clock_source(const plan::Plan& plan, const config::PolicyConfig& policy) {
    const bool has_clocks = sets_clocks(plan.training.phases());
    check_schedule_of_envpipe(plan, policy);
    if (policy.energy == config::Energy::baseline) {
        if (!has_clocks) return {};
        return {ClockSource::schedule, plan.schedule, "remove its CLOCK cells"};
    }
    const bool is_envelope = policy.energy == config::Energy::envelope;
    ClockSource source{ClockSource::energy, is_envelope ? "--energy envelope" : "--energy uniform",
                       "remove --energy"};
    if (has_clocks)
        throw ConfigError(
            cat(plan.schedule, " sets clocks itself; remove ", source.setter, " or its CLOCK cells"));
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

// Throws ConfigError if the devices of a real run have no clocks that can be set.
void check_clocks_of_gpus(const Job& job, const ClockSource& source) {
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
}

// Throws ConfigError if the run cannot measure costs by clock from its first steps.
void check_sweep(const Job& job, const ClockSource& source, const plan::Plan& plan) {
    for (std::size_t rank = 0; rank < job.gpu_clocks.size(); ++rank) {
        if (!job.gpu_clocks[rank].reports_joules)
            throw ConfigError(cat(source.setter, " needs the joules of steps, but the driver does not report ",
                                  "those of the GPU of rank ", rank,
                                  "; name measured costs with --clock-costs FILE"));
    }
    std::vector<std::vector<int>> clocks;
    for (const schedule::TeamClocks& of_team : list_team_clocks(job, plan.teams)) clocks.push_back(of_team.mhz);
    const std::size_t steps = policy::count_sweep_steps(clocks);
    if (job.steps > steps || !job.config.policy.decisions.empty()) return;
    throw ConfigError(cat(source.setter, " measures ", steps / policy::sweep_steps_per_clock,
                          " clocks in the first ", steps, " steps, but the run has only ",
                          format_count(job.steps, "step"),
                          "; train longer, or name measured costs with --clock-costs FILE"));
}

void set_highest_clocks(const Job& job, plan::Plan& plan) {
    const std::vector<schedule::TeamClocks> clocks = list_team_clocks(job, plan.teams);
    set_pass_clocks([&](int team, const auto&) { return clocks[static_cast<std::size_t>(team)].mhz.front(); },
                    plan);
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

std::span<const plan::DeviceClock> find_clocks(const Job& job, int rank) {
    if (job.devices) return job.devices->find_device(rank).clocks;
    return job.gpu_clocks[static_cast<std::size_t>(rank)].clocks;
}

std::vector<schedule::TeamClocks> list_team_clocks(const Job& job, const std::vector<layout::Team>& teams) {
    return list_team_clocks(teams, [&](int rank) { return find_clocks(job, rank); });
}

void check_clocks(const plan::Plan& plan, const config::PolicyConfig& policy, const RankClocks& find_clocks) {
    check_clocks_of(plan, find_clock_source(plan, policy), find_clocks);
}

std::optional<StepFigures> choose_clocks(const Job& job, int ranks, PlanState& current,
                                         const plan::Decision& decision) {
    const config::RunConfig& config = job.config;
    const PlannedRun run = describe_planned_run(job, ranks, current);
    const bool has_decided_clocks = !decision.clocks.empty();
    if (!decision.extra_forwards.empty()) {
        set_extra_forwards(decision.extra_forwards, current.plan);
        current.plan = fit_to_memory_limit(std::move(current.plan), run);
    } else if (has_decided_clocks && config.policy.energy != config::Energy::baseline) {
        current.plan = add_slots_for_clocks(std::move(current.plan), run);
    }
    if (has_decided_clocks) set_pass_clocks(decision.clocks, current.plan);
    const ClockSource source = has_decided_clocks
                                   ? ClockSource{ClockSource::decision, "the decision", "remove \"clocks\""}
                                   : find_clock_source(current.plan, config.policy);
    if (source.kind == ClockSource::none) return std::nullopt;
    if (is_elastic(config))
        throw ConfigError(cat(source.setter,
                              " sets clocks, but --elastic length compares layouts at their highest clocks; ",
                              source.remedy, " or --elastic"));
    const bool is_simulated = device::time_is_simulated();
    if (!is_simulated) check_clocks_of_gpus(job, source);
    check_clocks_of(current.plan, source, [&](int rank) { return find_clocks(job, rank); });
    if (source.kind == ClockSource::energy && sweeps_clocks(job)) {
        check_sweep(job, source, current.plan);
        current.plan = add_slots_for_clocks(std::move(current.plan), run);
        set_highest_clocks(job, current.plan);
        return std::nullopt;
    }
    if (source.kind == ClockSource::energy) {
        const plan::ClockCosts* const measured = job.clock_costs ? &*job.clock_costs : nullptr;
        if (measured != nullptr)
            check_measured_run(*measured, describe_measured_run(job.model, job.dtype, current.plan,
                                                                current.largest_microbatches.front()));
        PlannedEnergy energy = plan_energy(job, ranks, current, decision.step, measured);
        current.plan = std::move(energy.plan);
        return energy.before;
    }
    if (!is_simulated || config.policy.clock_every == 0) return std::nullopt;
    const schedule::StepCosts costs =
        predict_clocked_costs(job, choose_machine(job, ranks), current, decision.step);
    current.plan = join_short_clocks(current.plan, costs, config.policy.clock_every);
    return std::nullopt;
}

}  // namespace trireme::setup
