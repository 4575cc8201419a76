// Moves the state of a run from one plan to another: parameters, optimizer state, and the number of updates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trireme/mover/move.hpp"
#include "trireme/mover/move_execution.hpp"
#include "trireme/setup/memory_prediction.hpp"

namespace trireme::rank {

// The state that a rank holds under the old plan. Owns the tensors.
struct RankState {
    std::vector<model::ParameterSpec> specs = {};  // parameters that this rank holds
    // Values of the parameters, one tensor per spec; empty if the rank was idle.
    std::optional<model::ParameterTensors> values = {};
    std::vector<optim::ParameterShard> shards = {};  // shards whose optimizer state this rank keeps
    // optimizer_state[k][s] is kind k of shard s. The kinds are in the order of Optimizer::state().
    std::vector<model::ParameterTensors> optimizer_state = {};
    std::vector<std::size_t> updates = {};  // per spec: number of updates done
};

// The memory for a rank's state under the new plan. The pointers are null if the rank is idle.
struct StateDestination {
    const stage::LocalParameters* parameters = nullptr;
    optim::Optimizer* optimizer = nullptr;
    device::Stream* stream = nullptr;  // on which kernels initialize master weights
};

// Collective over `control`, which has all ranks of the job. Sets the number of updates of each parameter in
// the optimizer of `to`, and returns the number of kinds of optimizer state: moments, and master weights if the
// run has them. Ranks that were idle know none of these numbers, and receive them from other ranks. A parameter
// that no rank has trained before gets 0 updates. `tensors` has the names of all tensors, in the same order on
// all ranks.
std::size_t restore_update_counts(const RankState& from, const StateDestination& to,
                                  const std::vector<std::string>& tensors, comm::Communicator& control);

// Return the boxes in memory of a rank's parameters, or of one kind of its optimizer state. An idle rank has no
// boxes. `kind_index` is an index into RankState::optimizer_state.
std::vector<mover::BoxInMemory> find_value_boxes(const RankState& state);
std::vector<mover::BoxInMemory> find_value_boxes(const StateDestination& destination);
std::vector<mover::BoxInMemory> find_optimizer_boxes(const RankState& state, std::size_t kind_index);
std::vector<mover::BoxInMemory> find_optimizer_boxes(const StateDestination& destination,
                                                     std::size_t kind_index);

// A plan, and its gradient plan.
struct PlanTensors {
    const plan::Plan& plan;
    const stage::GradientPlan& gradients;
};

std::size_t count_held_elements(const std::vector<layout::HeldTensor>& tensors);

// Returns, for each tensor, the elements that each rank holds under the new plan in other memory than under the
// old plan: none if the layout stays.
std::vector<layout::HeldTensor> find_moved_values(const PlanTensors& from, const PlanTensors& to);

// Returns, for each tensor, the elements whose optimizer state each rank keeps under a plan.
std::vector<layout::HeldTensor> find_updated_tensors(const PlanTensors& of);

// The optimizer state that moves: for each tensor, the elements whose state each rank keeps under the old and
// under the new plan. A tensor that is frozen in either plan has no slices after the move.
struct MovedMoments {
    std::vector<layout::HeldTensor> before = {};
    std::vector<layout::HeldTensor> after = {};
    std::vector<std::string> thawed = {};  // tensors that are frozen only in the old plan
};
MovedMoments find_moved_moments(const PlanTensors& from, const PlanTensors& to);

// The moves of all ranks from one plan to another.
struct StateMoves {
    mover::Move values;
    mover::Move moments;  // executed once per kind of optimizer state (moments, master weights)
    std::vector<std::string> thawed = {};  // see MovedMoments; their state begins anew

    // Returns the bytes of the parameters, which have type `dtype`, plus the bytes of all optimizer state.
    // `count_elements` selects the elements of each move that count, for example
    // &mover::Move::count_sent_elements.
    using ElementCount = std::size_t (mover::Move::*)() const;
    std::size_t compute_bytes(ElementCount count_elements, const optim::OptimizerConfig& optimizer,
                              device::DType dtype) const {
        return (values.*count_elements)() * byte_size(dtype) + count_state_values(optimizer, dtype) *
                                                                   (moments.*count_elements)() *
                                                                   byte_size(accumulator_type(dtype));
    }
};

// Initializes the master weights of thawed parameters with the values of the parameters, which have arrived. A
// no-op if the optimizer has no master weights.
void initialize_thawed_parameters(const std::vector<std::string>& thawed, const StateDestination& to);

// Plans the moves from one plan to another. If their layouts are equal, values do not move, because the new
// plan takes over their memory: see TrainingRank::values.
StateMoves plan_state_moves(const PlanTensors& from, const PlanTensors& to, const mover::MoveRules& rules);

// A move in progress of the optimizer state, one kind after the other. The old memory of each kind is freed
// before the next kind moves.
class OptimizerStateMove {
public:
    // Collective over `group`, which serves nothing else until the move is complete. Begins to move the last of
    // the `kind_count` kinds; the other kinds follow in descending order. Each kind is moved as `move` says.
    // `dtype` is the type of the parameters. `group` and the tensors of `to` must outlive this object.
    OptimizerStateMove(RankState from, const StateDestination& to, mover::Move move, std::size_t kind_count,
                       device::DType dtype, comm::Communicator& group);
    OptimizerStateMove(const OptimizerStateMove&) = delete;
    OptimizerStateMove& operator=(const OptimizerStateMove&) = delete;

    void advance();  // progresses messages; begins the next kind if the current kind has arrived; never waits
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
    std::optional<mover::MoveExecution> current_;  // move of the current kind; empty if all kinds have arrived
};

// Collective over `control`, which has all ranks of the job. Moves the optimizer state, one kind after the
// other, then the parameters. Frees the old memory of each kind before the next kind moves. `dtype` is the type
// of the parameters.
void move_state(RankState from, const StateDestination& to, StateMoves moves, device::DType dtype,
                comm::Communicator& control);

// Collective over `control`, which has all ranks of the job. Moves the parameters, waits until they have
// arrived, and begins to move the optimizer state. Returns this move in progress, which the caller must finish
// before the next update. `dtype` is the type of the parameters.
std::unique_ptr<OptimizerStateMove> move_values_first(RankState from, const StateDestination& to,
                                                      StateMoves moves, device::DType dtype,
                                                      comm::Communicator& control);

// Returns the boxes in memory of parameters. `tensors` has one tensor per spec.
std::vector<mover::BoxInMemory> list_boxes(const std::vector<model::ParameterSpec>& specs,
                                           const model::ParameterTensors& tensors);
// Returns the boxes in memory of shards of the parameters `specs`. `tensors` has one tensor per shard.
std::vector<mover::BoxInMemory> list_boxes(const std::vector<model::ParameterSpec>& specs,
                                           const std::vector<optim::ParameterShard>& shards,
                                           const model::ParameterTensors& tensors);

}  // namespace trireme::rank
