#include "trireme/rank/twin_moves.hpp"

#include <algorithm>
#include <utility>

namespace trireme::rank {
namespace {

// Moves one tensor of the state. Afterwards the staging copies are free for the next one.
void move_part(const mover::TwinMove& move, const std::vector<mover::BoxInMemory>& from,
               const std::vector<mover::BoxInMemory>& to, device::DType dtype, const TwinRoad& road) {
    const std::vector<mover::BoxInMemory> twin = boxes_of_twin(move, road.node, dtype, road.memory.data());
    carry_out(move.out, from, twin, dtype, road.group);
    carry_out(move.stay, from, to, dtype, road.group);
    road.memory.settle();
    carry_out(move.in, twin, to, dtype, road.group);
    road.memory.settle();
}

}  // namespace

std::size_t TwinMoves::most_elements_at(int node) const {
    return std::max(values.elements_at(node), moments.elements_at(node));
}

TwinMoves twin_moves(const plan::Plan& from, const stage::GradientPlan& held, const plan::Plan& to,
                     const stage::GradientPlan& to_hold, const mover::MoveRules& rules) {
    return {
        .values = plan_twin_move(held.tensors, to_hold.tensors, rules),
        .moments = plan_twin_move(updated_tensors(from, held), updated_tensors(to, to_hold), rules),
    };
}

void move_state_by_twins(RankState from, const StatePlace& to, const TwinMoves& moves, device::DType dtype,
                         const TwinRoad& road) {
    road.memory.take(moves.most_elements_at(road.node) * bytes_of(wide_of(dtype)));
    for (std::size_t left = take_over_updates(from, to, road.group); left-- > 0;) {
        move_part(moves.moments, boxes_of_kept(from, left), boxes_of_kept(to, left), wide_of(dtype), road);
        if (!from.kept.empty()) from.kept.pop_back();
    }
    move_part(moves.values, boxes_of_values(from), boxes_of_values(to), dtype, road);
    road.memory.give_back();
}

}  // namespace trireme::rank
