#include "trireme/rank/state_moves.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "trireme/comm/collectives.hpp"
#include "trireme/layout/held_state.hpp"

namespace trireme::rank {
namespace {

void move_values(const RankState& from, const StateDestination& to, const mover::Move& move,
                 device::DType dtype, comm::Communicator& control) {
    execute_move(move, find_value_boxes(from), find_value_boxes(to), dtype, control);
}

}  // namespace

std::size_t restore_update_count(const RankState& from, const StateDestination& to,
                                 comm::Communicator& control) {
    const std::array own_counts{static_cast<double>(from.optimizer_state.size()),
                                static_cast<double>(from.updates)};
    const std::vector<double> all_counts = all_gather(control, own_counts);
    std::size_t kind_count = 0;
    std::size_t updates = 0;
    for (std::size_t rank = 0; rank < all_counts.size() / own_counts.size(); ++rank) {
        kind_count = std::max(kind_count, static_cast<std::size_t>(all_counts[2 * rank]));
        updates = std::max(updates, static_cast<std::size_t>(all_counts[2 * rank + 1]));
    }
    if (to.optimizer != nullptr) to.optimizer->resume_from(updates);
    return kind_count;
}

std::vector<mover::BoxInMemory> find_value_boxes(const RankState& state) {
    if (!state.values) return {};
    return list_boxes(state.specs, *state.values);
}

std::vector<mover::BoxInMemory> find_value_boxes(const StateDestination& destination) {
    if (destination.parameters == nullptr) return {};
    return list_boxes(destination.parameters->specs(), destination.parameters->values());
}

std::vector<mover::BoxInMemory> find_optimizer_boxes(const RankState& state, std::size_t kind_index) {
    if (state.optimizer_state.empty()) return {};
    return list_boxes(state.specs, state.shards, state.optimizer_state[kind_index]);
}

std::vector<mover::BoxInMemory> find_optimizer_boxes(const StateDestination& destination,
                                                     std::size_t kind_index) {
    if (destination.optimizer == nullptr) return {};
    return list_boxes(destination.parameters->specs(), destination.optimizer->shards(),
                      destination.optimizer->state()[kind_index]);
}

std::vector<layout::HeldTensor> find_updated_tensors(const plan::Plan& plan,
                                                     const stage::GradientPlan& gradients) {
    std::vector<layout::HeldTensor> tensors = gradients.tensors;
    // Without a sharded optimizer, a rank keeps the optimizer state of all parameters that it holds.
    if (!plan.shards_optimizer) return tensors;
    for (layout::HeldTensor& tensor : tensors) tensor.slices.clear();
    for (const layout::Bucket& bucket : gradients.buckets) {
        for (const layout::Shard& shard : bucket.shards) {
            tensors[gradients.pieces[shard.piece].tensor].slices.push_back({shard.owner, shard.box});
        }
    }
    return tensors;
}

StateMoves plan_state_moves(const plan::Plan& from, const stage::GradientPlan& from_gradients,
                            const plan::Plan& to, const stage::GradientPlan& to_gradients,
                            const mover::MoveRules& rules) {
    return {.values = plan_move(from_gradients.tensors, to_gradients.tensors, rules),
            .moments = plan_move(find_updated_tensors(from, from_gradients),
                                 find_updated_tensors(to, to_gradients), rules)};
}

OptimizerStateMove::OptimizerStateMove(RankState from, const StateDestination& to, mover::Move move,
                                       std::size_t kind_count, device::DType dtype, comm::Communicator& group)
    : from_(std::move(from)),
      to_(to),
      move_(std::move(move)),
      kinds_left_(kind_count),
      dtype_(dtype),
      group_(group) {
    begin_next_kind();
}

void OptimizerStateMove::begin_next_kind() {
    if (kinds_left_ == 0) return;
    --kinds_left_;
    current_.emplace(move_, find_optimizer_boxes(from_, kinds_left_), find_optimizer_boxes(to_, kinds_left_),
                     accumulator_type(dtype_), group_);
}

// Frees the old memory of the kind that has arrived. Kinds move from the last to the first, so this kind is the
// last entry of from_.optimizer_state.
void OptimizerStateMove::end_current() {
    current_.reset();
    if (!from_.optimizer_state.empty()) from_.optimizer_state.pop_back();
    begin_next_kind();
}

void OptimizerStateMove::advance() {
    while (current_ && current_->advance()) end_current();
}

void OptimizerStateMove::finish() {
    while (current_) {
        current_->finish();
        end_current();
    }
}

void move_state(RankState from, const StateDestination& to, StateMoves moves, device::DType dtype,
                comm::Communicator& control) {
    const std::size_t kind_count = restore_update_count(from, to, control);
    const RankState parameters{.specs = from.specs, .values = std::exchange(from.values, std::nullopt)};
    OptimizerStateMove(std::move(from), to, std::move(moves.moments), kind_count, dtype, control).finish();
    move_values(parameters, to, moves.values, dtype, control);
}

std::unique_ptr<OptimizerStateMove> move_values_first(RankState from, const StateDestination& to,
                                                      StateMoves moves, device::DType dtype,
                                                      comm::Communicator& control) {
    const std::size_t kind_count = restore_update_count(from, to, control);
    move_values(from, to, moves.values, dtype, control);
    from.values.reset();
    return std::make_unique<OptimizerStateMove>(std::move(from), to, std::move(moves.moments), kind_count,
                                                dtype, control);
}

std::vector<mover::BoxInMemory> list_boxes(const std::vector<model::ParameterSpec>& specs,
                                           const model::ParameterTensors& tensors) {
    return list_boxes(specs, optim::make_whole_shards(specs), tensors);
}

std::vector<mover::BoxInMemory> list_boxes(const std::vector<model::ParameterSpec>& specs,
                                           const std::vector<optim::ParameterShard>& shards,
                                           const model::ParameterTensors& tensors) {
    std::vector<mover::BoxInMemory> boxes;
    for (std::size_t s = 0; s < shards.size(); ++s) {
        const model::ParameterSpec& spec = specs[shards[s].parameter];
        for (const layout::Placement& placement : find_placements_within(spec.placements, shards[s].box)) {
            boxes.push_back({spec.name, placement, tensors[s]});
        }
    }
    return boxes;
}

}  // namespace trireme::rank
