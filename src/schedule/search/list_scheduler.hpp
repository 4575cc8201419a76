// List scheduling (Graham, 1966): makes programs by a rule. It simulates time, and a free team executes what
// its rule prefers among the instructions that are possible then.
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
#include "schedule/search/activation_room.hpp"
#include "schedule/search/list_rule.hpp"

namespace trireme::schedule {

class ListScheduler {
public:
    // All arguments are kept by reference. `may_split` has one entry per stage. The shape's bounds on
    // activations must not be below least_activations().
    ListScheduler(const PipelineShape& shape, const StageHoldings& holdings,
                  const std::vector<StageCost>& costs, const std::vector<bool>& may_split);

    // Returns one program of compute instructions per team. No team keeps more activations than rule and shape
    // allow, unless one micro-batch alone needs more.
    std::vector<Program> programs(const ListRule& rule);

    // Duration of the step with the last programs, and the sum of the peak activations of all teams.
    double duration() const { return clock_.end(); }
    std::size_t kept() const;

private:
    using Lowest = std::priority_queue<int, std::vector<int>, std::greater<>>;  // micro-batches
    struct Desk {  // work of a holding that is possible now
        Lowest forwards, backwards;
        std::vector<int> weights;      // micro-batches, in order
        std::size_t weights_done = 0;  // the first ones of `weights`
    };
    struct Coming {
        double time = 0;
        Instruction work;
        auto rank() const { return std::tuple(time, work.op, work.stage, work.microbatch); }
        friend bool operator>(const Coming& a, const Coming& b) { return a.rank() > b.rank(); }
    };
    struct Team {
        ActivationRoom room;
        std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming = {};
        bool is_idle = true;
    };
    using Call = std::pair<double, int>;  // time and team of a decision
    enum class Work { forward, backward, weight };

    void begin_again(const ListRule& rule);
    void decide(int team, double now);
    void take_in(Team& team, double now);
    std::optional<Instruction> next(Work work, int team, double now) const;
    std::optional<Instruction> next_forward(int team) const;
    std::optional<Instruction> next_backward(int team) const;
    bool is_read_by_next_stage(int team, const Instruction& backward) const;
    std::optional<Instruction> next_weight(int team, double now) const;
    bool has_room(int team, const Instruction& forward) const;
    bool rather_waits(int team, int stage, double now) const;
    void execute(int team, const Instruction& instruction);
    void take_from_desk(const Instruction& instruction);
    void keep_or_release(Team& team, const Instruction& instruction);
    void deliver(const Delivery& delivery);

    const PipelineShape& shape_;
    const StageHoldings& holdings_;
    const std::vector<StageCost>& costs_;
    const std::vector<bool>& may_split_;
    std::vector<int> least_;          // per team: least activations
    std::vector<Team> untouched_;     // initial states of the teams
    std::vector<std::size_t> turn_;   // per cell: index of its micro-batch among those of the team
    const ListRule* rule_ = nullptr;  // the members below belong to this rule
    ProgramClock clock_;
    std::vector<Team> teams_;
    std::vector<Desk> desks_;          // per holding
    std::vector<bool> is_given_back_;  // per cell: its activations were freed
    std::priority_queue<Call, std::vector<Call>, std::greater<>> calls_;
    std::vector<Program> programs_;
};

}  // namespace trireme::schedule
