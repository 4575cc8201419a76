#include "trireme/plan/pass_clocks.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/schedule/clocks.hpp"

namespace trireme::plan {
namespace {

std::size_t count_passes(const ReplicaClocks& clocks) {
    std::size_t passes = 0;
    for (const ClockRun& run : clocks) passes += run.passes;
    return passes;
}

// Returns the prologue and the body of a team's program.
schedule::Program join_phases(const ProvedPrograms& training, std::size_t team) {
    schedule::Program program = training.prologue[team];
    program.insert(program.end(), training.programs[team].begin(), training.programs[team].end());
    return program;
}

// Returns the number of passes of a stage that a team executes in a step.
std::size_t count_passes(const ProvedPrograms& training, std::size_t team, std::size_t stage) {
    const schedule::Program program = join_phases(training, team);
    return static_cast<std::size_t>(std::ranges::count_if(program, [&](const schedule::Instruction& each) {
        return is_compute(each.op) && static_cast<std::size_t>(each.stage) == stage;
    }));
}

// Returns the clock of each pass of a team, per stage.
std::vector<ReplicaClocks> list_team_clocks(const ProvedPrograms& training, std::size_t team) {
    std::vector<ReplicaClocks> clocks(training.shape.holders.size());
    int mhz = 0;
    for (const schedule::Instruction& each : join_phases(training, team)) {
        if (each.op == schedule::Op::set_clock) mhz = each.mhz;
        if (!is_compute(each.op)) continue;
        ReplicaClocks& of_stage = clocks[static_cast<std::size_t>(each.stage)];
        if (of_stage.empty() || of_stage.back().mhz != mhz)
            of_stage.push_back({.passes = 1, .mhz = mhz});
        else
            ++of_stage.back().passes;
    }
    return clocks;
}

const ReplicaClocks& find_clocks(const std::vector<ReplicaClocks>& of_stage, std::size_t replica) {
    return of_stage.size() == 1 ? of_stage.front() : of_stage[replica];
}

// The clocks of the passes that are still to come, for one team and stage.
class ClockReader {
public:
    explicit ClockReader(const ReplicaClocks& clocks) : run_(clocks.data()) {}

    int read() {
        if (used_passes_ == run_->passes) {
            ++run_;
            used_passes_ = 0;
        }
        ++used_passes_;
        return run_->mhz;
    }

private:
    const ClockRun* run_;
    std::size_t used_passes_ = 0;
};

// Throws ConfigError if the numbers of stages, replicas or passes differ from those of the plan.
void check_lengths(const PassClocks& clocks, const Plan& plan) {
    const std::vector<std::vector<int>>& holders = plan.training.shape.holders;
    if (clocks.size() != holders.size())
        throw ConfigError(cat("\"clocks\" is given for ", format_count(clocks.size(), "stage"),
                              ", but the layout has ", holders.size(), "; give one entry per stage"));
    for (std::size_t stage = 0; stage < holders.size(); ++stage) {
        const std::vector<ReplicaClocks>& of_stage = clocks[stage];
        if (of_stage.size() != 1 && of_stage.size() != holders[stage].size())
            throw ConfigError(cat("\"clocks\" has ", of_stage.size(), " texts for stage ", stage,
                                  ", which has ", format_count(holders[stage].size(), "replica"),
                                  "; give one text, or one text per replica"));
        for (std::size_t replica = 0; replica < holders[stage].size(); ++replica) {
            const std::size_t given = count_passes(find_clocks(of_stage, replica));
            const std::size_t needed =
                count_passes(plan.training, static_cast<std::size_t>(holders[stage][replica]), stage);
            if (given == needed) continue;
            throw ConfigError(cat("\"clocks\" has ", format_count(given, "clock"), " for stage ", stage,
                                  ", but the number of passes that replica ", replica,
                                  " of this stage executes in a step is ", needed,
                                  "; give one clock per pass"));
        }
    }
}

}  // namespace

PassClocks list_pass_clocks(const Plan& plan) {
    if (!sets_clocks(plan.training.phases())) return {};
    std::vector<std::vector<ReplicaClocks>> clocks_of_teams;
    for (std::size_t team = 0; team < plan.teams.size(); ++team)
        clocks_of_teams.push_back(list_team_clocks(plan.training, team));
    PassClocks clocks;
    for (const std::vector<int>& teams : plan.training.shape.holders) {
        const std::size_t stage = clocks.size();
        std::vector<ReplicaClocks>& of_stage = clocks.emplace_back();
        for (const int team : teams) of_stage.push_back(clocks_of_teams[static_cast<std::size_t>(team)][stage]);
        if (std::ranges::count(of_stage, of_stage.front()) == std::ssize(of_stage)) of_stage.resize(1);
    }
    return clocks;
}

void set_pass_clocks(const PassClocks& clocks, Plan& plan) {
    check_lengths(clocks, plan);
    std::map<std::pair<int, int>, ClockReader> readers;  // by team and stage
    for (std::size_t stage = 0; stage < clocks.size(); ++stage) {
        const std::vector<int>& teams = plan.training.shape.holders[stage];
        for (std::size_t replica = 0; replica < teams.size(); ++replica)
            readers.emplace(std::pair(teams[replica], static_cast<int>(stage)),
                            find_clocks(clocks[stage], replica));
    }
    set_pass_clocks(
        [&](int team, const schedule::Instruction& pass) {
            return readers.at({team, pass.stage}).read();
        },
        plan);
}

void set_pass_clocks(const std::function<int(int team, const schedule::Instruction& pass)>& find_mhz,
                     Plan& plan) {
    schedule::Phases phases = schedule::set_clocks(plan.training.phases(), find_mhz);
    plan.training.prologue = std::move(phases.prologue);
    plan.training.programs = std::move(phases.body);
}

}  // namespace trireme::plan
