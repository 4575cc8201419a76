// List scheduling (Graham, 1966): generates programs by a rule. The scheduler simulates time. Whenever a team
// is free, it executes the instruction that its rule prefers among those whose inputs have arrived.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/check/program_clock.hpp"
#include "schedule/programs/stage_holdings.hpp"
#include "schedule/search/activation_budget.hpp"
#include "schedule/search/list_rule.hpp"

namespace trireme::schedule {

class ListScheduler {
public:
    // All arguments are kept by reference. `may_split` has one entry per stage. max_activations of the shape
    // must not be below compute_min_activations().
    ListScheduler(const PipelineShape& shape, const StageHoldings& holdings,
                  const std::vector<StageCost>& costs, const std::vector<bool>& may_split);

    // Returns one program of compute instructions per team. No team stores more activations than the rule and
    // the shape allow, unless a single micro-batch needs more than the rule allows.
    std::vector<Program> make_programs(const ListRule& rule);

    // Return the duration of a step with the programs of the last make_programs(), and the sum of the peak
    // activations of all teams.
    double compute_duration() const { return clock_.compute_end(); }
    std::size_t compute_peak_activations() const;

private:
    // Numbers of micro-batches, the smallest first.
    using MicrobatchHeap = std::priority_queue<int, std::vector<int>, std::greater<>>;
    struct ReadyWork {  // instructions of a holding whose inputs have arrived
        MicrobatchHeap forwards, backwards;
        std::vector<int> weight_halves;      // micro-batches, in the order of their input halves
        std::size_t weight_halves_done = 0;  // number of entries of `weight_halves` already executed
    };
    struct ArrivingWork {  // an instruction, and the time at which its input arrives
        double time = 0;
        Instruction work;
        auto sort_key() const { return std::tuple(time, work.op, work.stage, work.microbatch); }
        friend bool operator>(const ArrivingWork& a, const ArrivingWork& b) {
            return a.sort_key() > b.sort_key();
        }
    };
    struct Team {
        ActivationBudget budget;
        std::priority_queue<ArrivingWork, std::vector<ArrivingWork>, std::greater<>> arriving_work = {};
        bool is_idle = true;
    };
    using Decision = std::pair<double, int>;  // time at which a team chooses its next instruction, and the team
    enum class Work { forward, backward, weight_half };

    void reset(const ListRule& rule);
    void decide(int team, double now);
    void accept_arrivals(Team& team, double now);
    std::optional<Instruction> choose_work(Work work, int team, double now) const;
    std::optional<Instruction> choose_forward(int team) const;
    std::optional<Instruction> choose_backward(int team) const;
    bool is_read_by_next_stage(int team, const Instruction& backward) const;
    std::optional<Instruction> choose_weight_half(int team, double now) const;
    bool fits_budget(int team, const Instruction& forward) const;
    bool should_wait(int team, int stage, double now) const;
    void execute(int team, const Instruction& instruction);
    void remove_ready_work(const Instruction& instruction);
    void update_budget(Team& team, const Instruction& instruction);
    void deliver(const Delivery& delivery);

    const PipelineShape& shape_;
    const StageHoldings& holdings_;
    const std::vector<StageCost>& costs_;
    const std::vector<bool>& may_split_;
    std::vector<int> min_activations_;  // per team: see compute_min_activations()
    std::vector<Team> initial_teams_;   // states at the beginning of make_programs()
    // Per pass: index of its micro-batch in the ActivationBudget of the team that executes the pass.
    std::vector<std::size_t> budget_index_;
    const ListRule* rule_ = nullptr;  // of the last make_programs(); the members below belong to the same call
    ProgramClock clock_;
    std::vector<Team> teams_;
    std::vector<ReadyWork> ready_work_;  // per holding
    std::vector<bool> is_freed_;         // per pass: its activations were released
    std::priority_queue<Decision, std::vector<Decision>, std::greater<>> decisions_;
    std::vector<Program> programs_;
};

}  // namespace trireme::schedule
