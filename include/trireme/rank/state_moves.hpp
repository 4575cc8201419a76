// What a run keeps from one step to the next, and how it passes from one plan to another: parameters, moments,
// and the number of updates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trireme/mover/carry_out.hpp"
#include "trireme/mover/move.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::rank {

// A rank's part of it, without what it was used by.
struct RankState {
    std::vector<model::ParameterSpec> specs = {};
    std::optional<model::ParameterTensors> values = {};  // none: the rank was idle
    std::vector<optim::ParameterShard> shards = {};
    std::vector<model::ParameterTensors> kept = {};  // of the shards, by the optimizer
    std::size_t updates = 0;
};

// Where it goes; absent of a rank that is idle now.
struct StatePlace {
    const stage::LocalParameters* parameters = nullptr;
    optim::Optimizer* optimizer = nullptr;
};

// Collective over `control`. Takes over the number of updates; gives how many numbers are kept of each
// parameter. Ranks that were idle learn both.
std::size_t take_over_updates(const RankState& from, const StatePlace& to, comm::Communicator& control);

// In memory: the values, and the number of that number among those that are kept.
std::vector<mover::BoxInMemory> boxes_of_values(const RankState& state);
std::vector<mover::BoxInMemory> boxes_of_values(const StatePlace& place);
std::vector<mover::BoxInMemory> boxes_of_kept(const RankState& state, std::size_t number);
std::vector<mover::BoxInMemory> boxes_of_kept(const StatePlace& place, std::size_t number);

// Who keeps moments and masters of what by a plan: a slice for each rank that updates it.
std::vector<layout::HeldTensor> updated_tensors(const plan::Plan& plan, const stage::GradientPlan& gradients);

struct StateMoves {
    mover::Move values;
    mover::Move moments;  // of each of them, and of the masters

    // Of values of type `dtype`, and of all that the optimizer keeps of them.
    using Count = std::size_t (mover::Move::*)() const;
    std::size_t bytes(Count count, const optim::OptimizerConfig& optimizer, device::DType dtype) const {
        return (values.*count)() * bytes_of(dtype) +
               kept_of(optimizer, dtype) * (moments.*count)() * bytes_of(wide_of(dtype));
    }
};

// From a plan with these gradients to another one.
StateMoves state_moves(const plan::Plan& from, const stage::GradientPlan& held, const plan::Plan& to,
                       const stage::GradientPlan& to_hold, const mover::MoveRules& rules);

// Moments on their way, one after the other; the old memory of each is given back when it has come.
class MomentJourney {
public:
    // Every rank of `group` makes one, and uses the group for nothing else until it has finished. `to` outlives
    // it.
    MomentJourney(RankState from, const StatePlace& to, mover::Move move, std::size_t moments,
                  device::DType dtype, comm::Communicator& group);
    MomentJourney(const MomentJourney&) = delete;
    MomentJourney& operator=(const MomentJourney&) = delete;

    void advance();  // never waits
    bool is_over() const { return !current_; }
    void finish();

private:
    void begin_next();
    void end();

    RankState from_;
    StatePlace to_;
    mover::Move move_;  // of each of them
    std::size_t left_;
    device::DType dtype_;
    comm::Communicator& group_;
    std::optional<mover::Journey> current_;  // none: all have come
};

// Collective over `control`, all ranks of the job. One part of the state after the other, moments first: the
// old memory of a part is given back before the next one's new memory is touched.
void move_state(RankState from, const StatePlace& to, StateMoves moves, device::DType dtype,
                comm::Communicator& control);

// Likewise, but returns when the values are there: the moments may come while they are used, until the next
// update.
std::unique_ptr<MomentJourney> move_values_first(RankState from, const StatePlace& to, StateMoves moves,
                                                 device::DType dtype, comm::Communicator& control);

// The boxes of a rank's parameters in memory, and of what is kept of shards of them.
std::vector<mover::BoxInMemory> boxes_of(const std::vector<model::ParameterSpec>& specs,
                                         const model::ParameterTensors& tensors);
std::vector<mover::BoxInMemory> boxes_of(const std::vector<model::ParameterSpec>& specs,
                                         const std::vector<optim::ParameterShard>& shards,
                                         const model::ParameterTensors& kept);

}  // namespace trireme::rank
