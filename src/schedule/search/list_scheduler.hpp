// Makes programs by a rule: time goes by, and a team that is free takes what its rule puts first among what is
// possible then (Graham, 1966).
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
    // All are kept by reference. `may_split`: per stage. The shape's bounds on activations are not below
    // least_activations().
    ListScheduler(const PipelineShape& shape, const StageHoldings& holdings,
                  const std::vector<StageCost>& costs, const std::vector<bool>& may_split);

    // Of compute instructions, one for each team. None keeps more activations than rule and shape allow, but
    // for those that one micro-batch needs.
    std::vector<Program> programs(const ListRule& rule);

    // Of the last ones: the step, and the most activations that each team keeps, over all teams.
    double duration() const { return clock_.end(); }
    std::size_t kept() const;

private:
    using Lowest = std::priority_queue<int, std::vector<int>, std::greater<>>;  // micro-batch
    struct Desk {  // of a holding: what is possible
        Lowest forwards, backwards;
        std::vector<int> weights;      // micro-batches, in order
        std::size_t weights_done = 0;  // the first of them
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
    using Call = std::pair<double, int>;  // at a time, to a team
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
    std::vector<int> least_;          // per team: activations
    std::vector<Team> untouched_;     // teams before anything is done
    std::vector<std::size_t> turn_;   // per cell: of its micro-batch among those of the team
    const ListRule* rule_ = nullptr;  // what follows belongs to it
    ProgramClock clock_;
    std::vector<Team> teams_;
    std::vector<Desk> desks_;          // per holding
    std::vector<bool> is_given_back_;  // per cell: its activations
    std::priority_queue<Call, std::vector<Call>, std::greater<>> calls_;
    std::vector<Program> programs_;
};

}  // namespace trireme::schedule
