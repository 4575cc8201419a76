#include "trireme/rank/state_moves.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "trireme/comm/collectives.hpp"
#include "trireme/layout/held_state.hpp"

namespace trireme::rank {
namespace {

void move_values(const RankState& from, const StatePlace& to, const mover::Move& move, device::DType dtype,
                 comm::Communicator& control) {
    carry_out(move, boxes_of_values(from), boxes_of_values(to), dtype, control);
}

}  // namespace

std::size_t take_over_updates(const RankState& from, const StatePlace& to, comm::Communicator& control) {
    const std::array own{static_cast<double>(from.kept.size()), static_cast<double>(from.updates)};
    const std::vector<double> all = gather_all(control, own);
    std::size_t moments = 0;
    std::size_t updates = 0;
    for (std::size_t rank = 0; rank < all.size() / own.size(); ++rank) {
        moments = std::max(moments, static_cast<std::size_t>(all[2 * rank]));
        updates = std::max(updates, static_cast<std::size_t>(all[2 * rank + 1]));
    }
    if (to.optimizer != nullptr) to.optimizer->go_on_from(updates);
    return moments;
}

std::vector<mover::BoxInMemory> boxes_of_values(const RankState& state) {
    if (!state.values) return {};
    return boxes_of(state.specs, *state.values);
}

std::vector<mover::BoxInMemory> boxes_of_values(const StatePlace& place) {
    if (place.parameters == nullptr) return {};
    return boxes_of(place.parameters->specs(), place.parameters->values());
}

std::vector<mover::BoxInMemory> boxes_of_kept(const RankState& state, std::size_t number) {
    if (state.kept.empty()) return {};
    return boxes_of(state.specs, state.shards, state.kept[number]);
}

std::vector<mover::BoxInMemory> boxes_of_kept(const StatePlace& place, std::size_t number) {
    if (place.optimizer == nullptr) return {};
    return boxes_of(place.parameters->specs(), place.optimizer->shards(), place.optimizer->kept()[number]);
}

std::vector<layout::HeldTensor> updated_tensors(const plan::Plan& plan, const stage::GradientPlan& gradients) {
    std::vector<layout::HeldTensor> tensors = gradients.tensors;
    if (!plan.shards_optimizer) return tensors;
    for (layout::HeldTensor& tensor : tensors) tensor.slices.clear();
    for (const layout::Bucket& bucket : gradients.buckets) {
        for (const layout::Shard& shard : bucket.shards) {
            tensors[gradients.pieces[shard.piece].tensor].slices.push_back({shard.owner, shard.box});
        }
    }
    return tensors;
}

StateMoves state_moves(const plan::Plan& from, const stage::GradientPlan& held, const plan::Plan& to,
                       const stage::GradientPlan& to_hold, const mover::MoveRules& rules) {
    return {.values = plan_move(held.tensors, to_hold.tensors, rules),
            .moments = plan_move(updated_tensors(from, held), updated_tensors(to, to_hold), rules)};
}

MomentJourney::MomentJourney(RankState from, const StatePlace& to, mover::Move move, std::size_t moments,
                             device::DType dtype, comm::Communicator& group)
    : from_(std::move(from)), to_(to), move_(std::move(move)), left_(moments), dtype_(dtype), group_(group) {
    begin_next();
}

void MomentJourney::begin_next() {
    if (left_ == 0) return;
    --left_;
    current_.emplace(move_, boxes_of_kept(from_, left_), boxes_of_kept(to_, left_), wide_of(dtype_), group_);
}

void MomentJourney::end() {
    current_.reset();
    if (!from_.kept.empty()) from_.kept.pop_back();
    begin_next();
}

void MomentJourney::advance() {
    while (current_ && current_->advance()) end();
}

void MomentJourney::finish() {
    while (current_) {
        current_->finish();
        end();
    }
}

void move_state(RankState from, const StatePlace& to, StateMoves moves, device::DType dtype,
                comm::Communicator& control) {
    const std::size_t moments = take_over_updates(from, to, control);
    RankState values{.specs = from.specs, .values = std::exchange(from.values, std::nullopt)};
    MomentJourney(std::move(from), to, std::move(moves.moments), moments, dtype, control).finish();
    move_values(values, to, moves.values, dtype, control);
}

std::unique_ptr<MomentJourney> move_values_first(RankState from, const StatePlace& to, StateMoves moves,
                                                 device::DType dtype, comm::Communicator& control) {
    const std::size_t moments = take_over_updates(from, to, control);
    move_values(from, to, moves.values, dtype, control);
    from.values.reset();
    return std::make_unique<MomentJourney>(std::move(from), to, std::move(moves.moments), moments, dtype,
                                           control);
}

std::vector<mover::BoxInMemory> boxes_of(const std::vector<model::ParameterSpec>& specs,
                                         const model::ParameterTensors& tensors) {
    return boxes_of(specs, optim::whole_parameters(specs), tensors);
}

std::vector<mover::BoxInMemory> boxes_of(const std::vector<model::ParameterSpec>& specs,
                                         const std::vector<optim::ParameterShard>& shards,
                                         const model::ParameterTensors& kept) {
    std::vector<mover::BoxInMemory> boxes;
    for (std::size_t s = 0; s < shards.size(); ++s) {
        const model::ParameterSpec& spec = specs[shards[s].parameter];
        for (const layout::Placement& own : placements_within(spec.placements, shards[s].box)) {
            boxes.push_back({spec.name, own, kept[s]});
        }
    }
    return boxes;
}

}  // namespace trireme::rank
