// Moves the state of a run from one plan to another: parameters, optimizer state, and the number of updates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trireme/mover/move.hpp"
#include "trireme/mover/move_execution.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::rank {

// The state that a rank holds under the old plan. Owns the tensors.
struct RankState {
    std::vector<model::ParameterSpec> specs = {};
    // Parameters, one tensor per spec; empty if the rank was idle.
    std::optional<model::ParameterTensors> values = {};
    std::vector<optim::ParameterShard> shards = {};  // those whose optimizer state this rank keeps
    // By kind (moments, master weights), then by shard.
    std::vector<model::ParameterTensors> optimizer_state = {};
    std::size_t updates = 0;  // number of updates done
};

// The memory for a rank's state under the new plan. The pointers are null if the rank is idle.
struct StateDestination {
    const stage::LocalParameters* parameters = nullptr;
    optim::Optimizer* optimizer = nullptr;
};

// Collective over `control`. Sets the number of updates in the new optimizer, and returns how many kinds of
// state (moments, master weights) it keeps per parameter. Ranks that were idle receive both numbers from other
// ranks.
std::size_t restore_update_count(const RankState& from, const StateDestination& to,
                                 comm::Communicator& control);

// Return the boxes of a rank's parameters in memory, and of one kind of its optimizer state: `kind_index` is
// an index into RankState::optimizer_state.
std::vector<mover::BoxInMemory> find_value_boxes(const RankState& state);
std::vector<mover::BoxInMemory> find_value_boxes(const StateDestination& destination);
std::vector<mover::BoxInMemory> find_optimizer_boxes(const RankState& state, std::size_t kind_index);
std::vector<mover::BoxInMemory> find_optimizer_boxes(const StateDestination& destination,
                                                     std::size_t kind_index);

// Returns, for each parameter, the elements whose optimizer state each rank keeps under a plan.
std::vector<layout::HeldTensor> find_updated_tensors(const plan::Plan& plan,
                                                     const stage::GradientPlan& gradients);

struct StateMoves {
    mover::Move values;
    mover::Move moments;  // executed once for each kind of optimizer state: moments and master weights

    // Returns the sum of bytes of parameters, which have type `dtype`, and of all optimizer state.
    // `count_elements` selects which elements of a move count, such as &mover::Move::count_sent_elements.
    using ElementCount = std::size_t (mover::Move::*)() const;
    std::size_t compute_bytes(ElementCount count_elements, const optim::OptimizerConfig& optimizer,
                              device::DType dtype) const {
        return (values.*count_elements)() * byte_size(dtype) + count_state_values(optimizer, dtype) *
                                                                   (moments.*count_elements)() *
                                                                   byte_size(accumulator_type(dtype));
    }
};

// Plans the moves from plan `from`, which has gradient plan `from_gradients`, to plan `to`.
StateMoves plan_state_moves(const plan::Plan& from, const stage::GradientPlan& from_gradients,
                            const plan::Plan& to, const stage::GradientPlan& to_gradients,
                            const mover::MoveRules& rules);

// Moves the optimizer state, one kind after the other. The old memory of each kind is freed after this kind has
// arrived.
class OptimizerStateMove {
public:
    // Made on every rank of `group`, which serves nothing else until the move is complete. `move` is executed
    // for each of `kind_count` kinds of optimizer state. The tensors of `to` must outlive this object.
    OptimizerStateMove(RankState from, const StateDestination& to, mover::Move move, std::size_t kind_count,
                       device::DType dtype, comm::Communicator& group);
    OptimizerStateMove(const OptimizerStateMove&) = delete;
    OptimizerStateMove& operator=(const OptimizerStateMove&) = delete;

    void advance();  // progresses messages; never waits
    bool is_complete() const { return !current_; }
    void finish();  // waits until the move is complete

private:
    void begin_next_kind();
    void end_current();

    RankState from_;
    StateDestination to_;
    mover::Move move_;        // executed once per kind of state
    std::size_t kinds_left_;  // number of kinds of state whose move has not begun
    device::DType dtype_;
    comm::Communicator& group_;
    std::optional<mover::MoveExecution> current_;  // move of the current kind; empty if all have arrived
};

// Collective over `control`, which has all ranks of the job. Moves first the optimizer state, one kind after
// the other, then the parameters. Old memory is freed as soon as its content has arrived, before the next kind
// moves.
void move_state(RankState from, const StateDestination& to, StateMoves moves, device::DType dtype,
                comm::Communicator& control);

// Collective over `control`, which has all ranks of the job. Moves the parameters and returns when they have
// arrived. The returned move of the optimizer state must be finished before the next update.
std::unique_ptr<OptimizerStateMove> move_values_first(RankState from, const StateDestination& to,
                                                      StateMoves moves, device::DType dtype,
                                                      comm::Communicator& control);

// Return the boxes of parameters in memory: `tensors` has one tensor per spec, or one tensor per shard.
std::vector<mover::BoxInMemory> list_boxes(const std::vector<model::ParameterSpec>& specs,
                                           const model::ParameterTensors& tensors);
std::vector<mover::BoxInMemory> list_boxes(const std::vector<model::ParameterSpec>& specs,
                                           const std::vector<optim::ParameterShard>& shards,
                                           const model::ParameterTensors& tensors);

}  // namespace trireme::rank
