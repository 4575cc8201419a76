#include "trireme/rank/staged_moves.hpp"

#include <algorithm>
#include <utility>

namespace trireme::rank {
namespace {

// Moves the parameters or one kind of optimizer state, whose elements have type `dtype`. Afterwards the staging
// copies can be overwritten.
void move_tensors(const mover::StagedMove& move, const std::vector<mover::BoxInMemory>& from,
                  const std::vector<mover::BoxInMemory>& to, device::DType dtype,
                  const StagingResources& resources) {
    const std::vector<mover::BoxInMemory> staging =
        list_staging_copy_boxes(move, resources.node, dtype, resources.memory.data());
    execute_move(move.to_staging, from, staging, dtype, resources.group);
    execute_move(move.local, from, to, dtype, resources.group);
    resources.memory.synchronize();
    execute_move(move.from_staging, staging, to, dtype, resources.group);
    resources.memory.synchronize();
}

}  // namespace

std::size_t StagedMoves::max_node_elements(int node) const {
    return std::max(values.count_node_elements(node), moments.count_node_elements(node));
}

StagedMoves plan_staged_moves(const PlanTensors& from, const PlanTensors& to, const mover::MoveRules& rules) {
    MovedMoments moments = find_moved_moments(from, to);
    return {.values = plan_staged_move(from.gradients.tensors, find_moved_values(from, to), rules),
            .moments = plan_staged_move(moments.before, moments.after, rules),
            .thawed = std::move(moments.thawed)};
}

void move_state_by_staging(RankState from, const StateDestination& to, const StagedMoves& moves,
                           device::DType dtype, const StagingResources& resources) {
    resources.memory.allocate(moves.max_node_elements(resources.node) * byte_size(accumulator_type(dtype)));
    // Kinds move from the last to the first, so that pop_back() frees the kind that has arrived.
    for (std::size_t kind_index =
             restore_update_counts(from, to, moves.values.to_staging.tensors, resources.group);
         kind_index-- > 0;) {
        move_tensors(moves.moments, find_optimizer_boxes(from, kind_index),
                     find_optimizer_boxes(to, kind_index), accumulator_type(dtype), resources);
        if (!from.optimizer_state.empty()) from.optimizer_state.pop_back();
    }
    move_tensors(moves.values, find_value_boxes(from), find_value_boxes(to), dtype, resources);
    initialize_thawed_parameters(moves.thawed, to);
    resources.memory.release();
}

}  // namespace trireme::rank
