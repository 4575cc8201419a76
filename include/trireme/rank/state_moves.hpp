// Moves the state of a run from one plan to another: parameters, optimizer state, and the number of updates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trireme/mover/carry_out.hpp"
#include "trireme/mover/move.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::rank {

// A rank's part of the state under the old plan. Owns its tensors.
struct RankState {
    std::vector<model::ParameterSpec> specs = {};
    std::optional<model::ParameterTensors> values = {};  // empty if the rank was idle
    std::vector<optim::ParameterShard> shards = {};
    std::vector<model::ParameterTensors> kept = {};  // per kind of optimizer state: one tensor per shard
    std::size_t updates = 0;
};

// The memory of a rank's state under the new plan. Null if the rank is idle.
struct StatePlace {
    const stage::LocalParameters* parameters = nullptr;
    optim::Optimizer* optimizer = nullptr;
};

// Collective over `control`. Sets the number of updates in the new optimizer, and returns how many tensors the
// optimizer keeps per parameter. Ranks that were idle receive both from the others.
std::size_t take_over_updates(const RankState& from, const StatePlace& to, comm::Communicator& control);

// Return the boxes of a rank's parameters in memory, and of the optimizer's kept tensor `number`.
std::vector<mover::BoxInMemory> boxes_of_values(const RankState& state);
std::vector<mover::BoxInMemory> boxes_of_values(const StatePlace& place);
std::vector<mover::BoxInMemory> boxes_of_kept(const RankState& state, std::size_t number);
std::vector<mover::BoxInMemory> boxes_of_kept(const StatePlace& place, std::size_t number);

// Returns the elements for which each rank keeps optimizer state under a plan: a slice per rank that updates
// them.
std::vector<layout::HeldTensor> updated_tensors(const plan::Plan& plan, const stage::GradientPlan& gradients);

struct StateMoves {
    mover::Move values;
    mover::Move moments;  // one move for each tensor that the optimizer keeps: moments and master weights

    // Returns the bytes of parameters of type `dtype` and of all optimizer state, from the elements that
    // `count` counts in each move.
    using Count = std::size_t (mover::Move::*)() const;
    std::size_t bytes(Count count, const optim::OptimizerConfig& optimizer, device::DType dtype) const {
        return (values.*count)() * bytes_of(dtype) +
               kept_of(optimizer, dtype) * (moments.*count)() * bytes_of(wide_of(dtype));
    }
};

// Plans the moves from plan `from` with gradient plan `held` to plan `to` with gradient plan `to_hold`.
StateMoves state_moves(const plan::Plan& from, const stage::GradientPlan& held, const plan::Plan& to,
                       const stage::GradientPlan& to_hold, const mover::MoveRules& rules);

// Moves the optimizer state, one tensor after the other. The old memory of a tensor is freed after it has
// arrived.
class MomentJourney {
public:
    // Every rank of `group` makes one, and uses the group for nothing else until it has finished. The tensors
    // of `to` must outlive this object.
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
    mover::Move move_;  // move of each tensor
    std::size_t left_;  // number of tensors whose move has not begun
    device::DType dtype_;
    comm::Communicator& group_;
    std::optional<mover::Journey> current_;  // empty if all tensors have arrived
};

// Collective over `control`, which has all ranks of the job. Moves one tensor after the other, optimizer state
// first. The old memory of a tensor is freed before the new memory of the next one is touched.
void move_state(RankState from, const StatePlace& to, StateMoves moves, device::DType dtype,
                comm::Communicator& control);

// Collective over `control`, which has all ranks of the job. Returns when the parameters have arrived. The
// optimizer state may arrive later, until the next update.
std::unique_ptr<MomentJourney> move_values_first(RankState from, const StatePlace& to, StateMoves moves,
                                                 device::DType dtype, comm::Communicator& control);

// Return the boxes of whole parameters in memory, and of tensors that the optimizer keeps for their shards.
std::vector<mover::BoxInMemory> boxes_of(const std::vector<model::ParameterSpec>& specs,
                                         const model::ParameterTensors& tensors);
std::vector<mover::BoxInMemory> boxes_of(const std::vector<model::ParameterSpec>& specs,
                                         const std::vector<optim::ParameterShard>& shards,
                                         const model::ParameterTensors& kept);

}  // namespace trireme::rank
