// List scheduling (Graham, 1966): generates programs by a rule. The scheduler simulates time. Whenever a team
// is free, the team executes the instruction that its rule prefers among those whose inputs have arrived.
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
    // All arguments are kept by reference. `costs` and `may_split` have one entry per stage; `may_split` is
    // true if backwards of the stage may be split. shape.max_activations must not be below
    // compute_min_activations().
    ListScheduler(const PipelineShape& shape, const StageHoldings& holdings,
                  const std::vector<StageCost>& costs, const std::vector<bool>& may_split);

    // Returns one program of compute instructions per team. The stash of a team exceeds neither
    // shape.max_activations nor the max_activations of its rule. If the rule's limit is below
    // compute_min_activations(), the limit is raised to this number.
    std::vector<Program> make_programs(const ListRule& rule);

    // Return properties of the programs of the last make_programs(): the duration of a step in the unit of
    // `costs`, and the sum of the teams' peak activations.
    double compute_duration() const { return clock_.compute_end(); }
    std::size_t compute_peak_activations() const;

private:
    // Numbers of micro-batches, the smallest first.
    using MicrobatchHeap = std::priority_queue<int, std::vector<int>, std::greater<>>;
    struct ReadyWork {  // micro-batches that are ready for a forward, backward or weight half in one holding
        MicrobatchHeap forwards, backwards;
        std::vector<int> weight_halves;      // in the order in which the input halves were executed
        std::size_t weight_halves_done = 0;  // number of executed entries, which come first
    };
    struct ArrivingWork {  // an instruction, and the time at which its input arrives
        double time = 0;
        Instruction work;
        auto sort_key() const { return std::tuple(time, work.op, work.stage, work.microbatch); }
        friend bool operator>(const ArrivingWork& a, const ArrivingWork& b) {
            return a.sort_key() > b.sort_key();
        }
    };
    struct TeamState {
        ActivationBudget budget;
        std::priority_queue<ArrivingWork, std::vector<ArrivingWork>, std::greater<>> arriving_work = {};
        bool is_idle = true;  // the team executes no instruction and waits for an input
    };
    using Decision = std::pair<double, int>;  // time at which a team chooses its next instruction, and the team
    enum class InstructionKind { forward, backward, weight_half };  // backward: unsplit, or an input half

    void reset(const ListRule& rule);
    void decide(int team, double now);
    void accept_arrivals(TeamState& team_state, double now);
    // The choose functions return nothing if the team should not execute an instruction of this kind now.
    std::optional<Instruction> choose_instruction(InstructionKind kind, int team, double now) const;
    std::optional<Instruction> choose_forward(int team) const;
    std::optional<Instruction> choose_backward(int team) const;
    bool must_wait_for_next_stage(int team, const Instruction& backward) const;
    std::optional<Instruction> choose_weight_half(int team, double now) const;
    bool fits_budget(int team, const Instruction& forward) const;
    bool should_delay_weight_half(int team, int stage, double now) const;
    void execute(int team, const Instruction& instruction);
    void remove_ready_work(const Instruction& instruction);
    void update_budget(TeamState& team_state, const Instruction& instruction);
    void deliver(const Delivery& delivery);

    const PipelineShape& shape_;
    const StageHoldings& holdings_;
    const std::vector<StageCost>& costs_;
    const std::vector<bool>& may_split_;
    std::vector<int> min_activations_;            // per team: see compute_min_activations()
    std::vector<TeamState> initial_team_states_;  // at the beginning of make_programs()
    // Per pass: index of its micro-batch in the ActivationBudget of the team that executes the pass.
    std::vector<std::size_t> budget_index_;
    // The members below belong to the last call of make_programs().
    const ListRule* rule_ = nullptr;  // valid only during the call
    ProgramClock clock_;
    std::vector<TeamState> team_states_;
    std::vector<ReadyWork> ready_work_;  // per holding
    std::vector<bool> is_released_;      // per pass: its activation has been released
    std::priority_queue<Decision, std::vector<Decision>, std::greater<>> decisions_;
    std::vector<Program> programs_;
};

}  // namespace trireme::schedule
