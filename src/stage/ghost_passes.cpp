#include "trireme/stage/ghost_passes.hpp"

#include "trireme/comm/communicator.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::stage {
namespace {

// Returns the rows that a neighbouring stage sends or receives, without values.
device::Tensor neighbour_of(const GhostPass& ghost) {
    return ghost.flight.kept.tensor(ghost.pass.dtype, own_rows(ghost.pass).count, ghost.stage.width());
}

}  // namespace

PassTime PassTime::operator/(double count) const {
    return {.products = products / count, .other_kernels = other_kernels / count, .waits = waits / count};
}

PassKey GhostPasses::key_of(const GhostPass& ghost) const {
    const model::Pass& pass = ghost.pass;
    PassKey key{.op = ghost.instruction.op, .stage = ghost.instruction.stage, .is_training = pass.is_training};
    if (pass.group != nullptr) key.place = pass.group->ranks.rank();
    if (pass.is_training && resizing_ != nullptr) key.period = resizing_->period();
    for (const kernels::Segment& segment : pass.batch.segments) key.lengths.push_back(segment.length);
    return key;
}

// Returns null if no pass of this kind has been walked.
const PassTime* GhostPasses::find(const PassKey& key) const {
    if (rehearses_) return nullptr;
    const auto found = own_.find(key);
    if (found != own_.end()) return &found->second;
    if (!shared_) return nullptr;
    const auto rehearsed = shared_->find(key);
    return rehearsed == shared_->end() ? nullptr : &rehearsed->second;
}

// Waits for tensor ranks do not count as device work.
void GhostPasses::charge(const GhostPass& ghost, const PassTime& time) {
    const double kernels = time.products.seconds + time.other_kernels;
    device::spend_seconds(kernels);
    ghost.pass.stream.ledger.add({.kernel = "pass"}, kernels);
    ghost.pass.stream.products += time.products;
    if (time.waits > 0) device::rest_seconds(time.waits);
    wait_seconds_ += time.waits;
    ghost.events.after_layer();
}

// Charges every layer the same fraction of the time.
void GhostPasses::charge_layers(const GhostPass& ghost, const PassTime& time) {
    const auto& layers = ghost.stage.layer_parameters();
    const PassTime of_layer = time / static_cast<double>(layers.size());
    for (std::size_t l = layers.size(); l-- > 0;) {
        charge(ghost, of_layer);
        ghost.events.left(layers[l]);
    }
}

template <class Walk>
void GhostPasses::walk(const PassKey& key, const model::Pass& pass, Walk&& walk) {
    const double begin = device::now_seconds();
    const double kernels_before = pass.stream.ledger.seconds();
    const device::ProductWork products_before = pass.stream.products;
    walk();
    const double kernels = pass.stream.ledger.seconds() - kernels_before;
    const device::ProductWork products = pass.stream.products - products_before;
    const PassTime time{.products = products,
                        .other_kernels = kernels - products.seconds,
                        .waits = std::max(0.0, device::now_seconds() - begin - kernels)};
    (rehearses_ ? *shared_ : own_).insert({key, time});
}

// Walks the earlier passes of the micro-batch if they were charged as a whole. Neither takes time nor sends.
void GhostPasses::prepare(const GhostPass& ghost) {
    const auto& [instruction, stage, pass, flight, events, is_last] = ghost;
    const bool for_weights = instruction.op == schedule::Op::backward_weight;
    const bool is_there = for_weights ? !flight.grad_outputs.empty() : !flight.states.empty();
    if (is_there) return;
    flight.clear();
    device::Stream quiet_stream{.backend = device::GhostStream{}};
    std::unique_ptr<comm::Communicator> nobody;
    std::optional<model::TensorGroup> quiet_group;
    if (pass.group != nullptr) {
        const comm::Communicator& ranks = pass.group->ranks;
        nobody = comm::ghost_group(ranks.name(), ranks.rank(), ranks.size());
        quiet_group.emplace(model::TensorGroup{*nobody, pass.group->exchange, pass.group->cuts_rows});
    }
    const model::Pass quiet{.stream = quiet_stream,
                            .batch = pass.batch,
                            .scratch = pass.scratch,
                            .dtype = pass.dtype,
                            .is_training = pass.is_training,
                            .group = quiet_group ? &*quiet_group : nullptr};
    const auto neighbour = [&](bool is_end) { return is_end ? device::Tensor{} : neighbour_of(ghost); };
    stage.forward(quiet, neighbour(stage.is_first()), flight, workspace_);
    if (for_weights)
        stage.backward_input(quiet, neighbour(stage.is_last()), neighbour(stage.is_first()), flight);
}

device::Tensor GhostPasses::forward(const GhostPass& ghost, device::ConstTensor input) {
    const PassKey key = key_of(ghost);
    if (const PassTime* const time = find(key)) {
        charge(ghost, *time);
        return ghost.stage.is_last() ? device::Tensor{} : neighbour_of(ghost);
    }
    device::Tensor output;
    walk(key, ghost.pass,
         [&] { output = ghost.stage.forward(ghost.pass, input, ghost.flight, workspace_, ghost.events); });
    return output;
}

void GhostPasses::backward(const GhostPass& ghost, device::ConstTensor grad_output, device::Tensor grad_input) {
    const PassKey key = key_of(ghost);
    if (const PassTime* const time = find(key))
        return ghost.is_last ? charge_layers(ghost, *time) : charge(ghost, *time);
    prepare(ghost);
    walk(key, ghost.pass, [&] {
        const auto& [instruction, stage, pass, flight, events, is_last] = ghost;
        if (instruction.op == schedule::Op::backward) {
            stage.backward(pass, grad_output, grad_input, flight, workspace_, events);
        } else if (instruction.op == schedule::Op::backward_input) {
            stage.backward_input(pass, grad_output, grad_input, flight, events);
        } else {
            stage.backward_weight(pass, flight, events);
        }
    });
}

void GhostPasses::rehearse(const std::vector<Stage>& stages, const std::vector<int>& numbers,
                           const model::Pass& pass, bool in_halves) {
    const PassEvents silent;
    rehearses_ = true;
    for (std::size_t s = 0; s < stages.size(); ++s) {
        Flight flight(0, device::MemorySpace::ghost);
        GhostPass ghost{{schedule::Op::forward, numbers[s]}, stages[s], pass, flight, silent};
        const auto neighbour = [&](bool is_end) { return is_end ? device::Tensor{} : neighbour_of(ghost); };
        forward(ghost, neighbour(stages[s].is_first()));
        const device::Tensor grad_output = neighbour(stages[s].is_last());
        const device::Tensor grad_input = neighbour(stages[s].is_first());
        const std::vector<schedule::Op> halves{schedule::Op::backward_input, schedule::Op::backward_weight};
        for (const schedule::Op op : in_halves ? halves : std::vector{schedule::Op::backward}) {
            ghost.instruction.op = op;
            backward(ghost, grad_output, grad_input);
        }
    }
    rehearses_ = false;
}

}  // namespace trireme::stage
