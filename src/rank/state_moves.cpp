#include "trireme/rank/state_moves.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "trireme/comm/collectives.hpp"
#include "trireme/layout/held_state.hpp"

namespace trireme::rank {
namespace {

void move_values(const RankState& from, const StateDestination& to, const mover::Move& move,
                 device::DType dtype, comm::Communicator& control) {
    execute_move(move, find_value_boxes(from), find_value_boxes(to), dtype, control);
}

// The numbers of updates of a rank's parameters, for tensors with consecutive indices and equal numbers.
struct UpdateRun {
    std::size_t first = 0;  // index of the first tensor
    std::size_t tensors = 0;
    std::size_t updates = 0;
};

using TensorIndices = std::unordered_map<std::string, std::size_t>;  // by name

std::vector<UpdateRun> list_update_runs(const RankState& state, const TensorIndices& indices) {
    std::map<std::size_t, std::size_t> updates;  // by index of the tensor
    for (std::size_t i = 0; i < state.specs.size(); ++i)
        if (state.specs[i].is_trained) updates[indices.at(state.specs[i].name)] = state.updates[i];
    std::vector<UpdateRun> runs;
    for (const auto& [tensor, count] : updates) {
        const bool continues =
            !runs.empty() && runs.back().first + runs.back().tensors == tensor && runs.back().updates == count;
        continues ? void(++runs.back().tensors)
                  : runs.push_back({.first = tensor, .tensors = 1, .updates = count});
    }
    return runs;
}

std::string to_string(const std::vector<UpdateRun>& runs) {
    std::string text;
    for (const auto& [first, tensors, updates] : runs) text += cat(first, ' ', tensors, ' ', updates, ' ');
    return text;
}

// Adds the runs of to_string() to `counts`, which has one number of updates per tensor.
void add_update_runs(std::istringstream& in, std::vector<std::size_t>& counts) {
    for (UpdateRun run; in >> run.first >> run.tensors >> run.updates;) {
        for (std::size_t t = run.first; t < run.first + run.tensors; ++t)
            counts[t] = std::max(counts[t], run.updates);
    }
}

}  // namespace

std::size_t restore_update_counts(const RankState& from, const StateDestination& to,
                                  const std::vector<std::string>& tensors, comm::Communicator& control) {
    TensorIndices indices;
    for (std::size_t t = 0; t < tensors.size(); ++t) indices[tensors[t]] = t;
    std::size_t kinds = 0;
    std::vector<std::size_t> counts(tensors.size());
    const std::string own = cat(from.optimizer_state.size(), ' ', to_string(list_update_runs(from, indices)));
    for (const std::string& text : all_gather(control, own)) {
        std::istringstream in(text);
        std::size_t kinds_of_rank = 0;
        in >> kinds_of_rank;
        kinds = std::max(kinds, kinds_of_rank);
        add_update_runs(in, counts);
    }
    if (to.optimizer == nullptr) return kinds;
    std::vector<std::size_t> updates;
    for (const model::ParameterSpec& spec : to.parameters->specs())
        updates.push_back(spec.is_trained ? counts[indices.at(spec.name)] : 0);
    to.optimizer->resume_from(std::move(updates));
    return kinds;
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

std::size_t count_held_elements(const std::vector<layout::HeldTensor>& tensors) {
    std::size_t sum = 0;
    for (const layout::HeldTensor& tensor : tensors)
        for (const layout::Slice& slice : tensor.slices) sum += slice.box.size();
    return sum;
}

std::vector<layout::HeldTensor> find_moved_values(const PlanTensors& from, const PlanTensors& to) {
    std::vector<layout::HeldTensor> tensors = to.gradients.tensors;
    if (from.plan.layout == to.plan.layout)
        for (layout::HeldTensor& tensor : tensors) tensor.slices.clear();
    return tensors;
}

std::vector<layout::HeldTensor> find_updated_tensors(const PlanTensors& of) {
    std::vector<layout::HeldTensor> tensors = of.gradients.tensors;
    // Without a sharded optimizer, a rank keeps the optimizer state of all trained parameters that it holds.
    for (layout::HeldTensor& tensor : tensors)
        if (of.plan.shards_optimizer || !tensor.is_trained) tensor.slices.clear();
    if (!of.plan.shards_optimizer) return tensors;
    for (const layout::Bucket& bucket : of.gradients.buckets) {
        for (const layout::Shard& shard : bucket.shards)
            tensors[of.gradients.pieces[shard.piece].tensor].slices.push_back({shard.owner, shard.box});
    }
    return tensors;
}

MovedMoments find_moved_moments(const PlanTensors& from, const PlanTensors& to) {
    MovedMoments moved{.before = find_updated_tensors(from), .after = find_updated_tensors(to)};
    std::unordered_set<std::string> trained_before;
    for (const layout::HeldTensor& tensor : from.gradients.tensors)
        if (tensor.is_trained) trained_before.insert(tensor.name);
    for (layout::HeldTensor& tensor : moved.after) {
        if (trained_before.contains(tensor.name)) continue;
        if (tensor.is_trained) moved.thawed.push_back(tensor.name);
        tensor.slices.clear();
    }
    return moved;
}

StateMoves plan_state_moves(const PlanTensors& from, const PlanTensors& to, const mover::MoveRules& rules) {
    MovedMoments moments = find_moved_moments(from, to);
    return {.values = plan_move(from.gradients.tensors, find_moved_values(from, to), rules),
            .moments = plan_move(moments.before, moments.after, rules),
            .thawed = std::move(moments.thawed)};
}

void initialize_thawed_parameters(const std::vector<std::string>& thawed, const StateDestination& to) {
    if (to.optimizer == nullptr || to.optimizer->master_weights() == nullptr) return;
    for (std::size_t i = 0; i < to.parameters->specs().size(); ++i) {
        if (std::ranges::find(thawed, to.parameters->specs()[i].name) != thawed.end())
            to.optimizer->initialize_master_weights(*to.stream, i, to.parameters->values()[i]);
    }
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
    const std::size_t kind_count = restore_update_counts(from, to, moves.values.tensors, control);
    const RankState parameters{.specs = from.specs, .values = std::exchange(from.values, std::nullopt)};
    OptimizerStateMove(std::move(from), to, std::move(moves.moments), kind_count, dtype, control).finish();
    move_values(parameters, to, moves.values, dtype, control);
    initialize_thawed_parameters(moves.thawed, to);
}

std::unique_ptr<OptimizerStateMove> move_values_first(RankState from, const StateDestination& to,
                                                      StateMoves moves, device::DType dtype,
                                                      comm::Communicator& control) {
    const std::size_t kind_count = restore_update_counts(from, to, moves.values.tensors, control);
    move_values(from, to, moves.values, dtype, control);
    initialize_thawed_parameters(moves.thawed, to);
    from.values.reset();
    return std::make_unique<OptimizerStateMove>(std::move(from), to, std::move(moves.moments), kind_count,
                                                dtype, control);
}

std::vector<mover::BoxInMemory> list_boxes(const std::vector<model::ParameterSpec>& specs,
                                           const model::ParameterTensors& tensors) {
    std::vector<mover::BoxInMemory> boxes;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        for (const layout::Placement& placement : specs[i].placements)
            boxes.push_back({specs[i].name, placement, tensors[i]});
    }
    return boxes;
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
