#include "trireme/stage/pass_runner.hpp"

#include "trireme/comm/communicator.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme {

PassTime PassTime::operator/(double count) const {
    return {.products = products / count, .other_kernels = other_kernels / count, .waits = waits / count};
}

PassKey PassRunner::key_of(Op op, int number, const Pass& pass) {
    PassKey key{.op = op, .stage = number, .is_training = pass.is_training};
    if (pass.group != nullptr) key.place = pass.group->ranks.rank();
    if (pass.is_training && pass.resizing != nullptr) key.period = pass.resizing->period();
    for (const Segment& segment : pass.batch.segments) key.lengths.push_back(segment.length);
    return key;
}

const PassTime* PassRunner::known(const PassKey& key) const {
    if (!own_ || rehearses_) return nullptr;
    const auto found = own_->find(key);
    if (found != own_->end()) return &found->second;
    if (!shared_) return nullptr;
    const auto rehearsed = shared_->find(key);
    return rehearsed == shared_->end() ? nullptr : &rehearsed->second;
}

// Waiting for tensor ranks is no work of the device.
void PassRunner::charge(const Pass& pass, const PassTime& time) {
    const double kernels = time.products.seconds + time.other_kernels;
    spend_seconds(kernels);
    pass.stream.ledger.add({.kernel = "pass"}, kernels);
    pass.stream.products += time.products;
    if (time.waits > 0) rest_seconds(time.waits);
    wait_seconds_ += time.waits;
    if (pass.progress != nullptr) (*pass.progress)();
}

// As if all layers took equally long.
void PassRunner::charge_layers(const Stage& stage, const Pass& pass, const PassTime& time,
                               const LayerLeft& left) {
    const auto& layers = stage.layer_parameters();
    const PassTime of_layer = time / static_cast<double>(layers.size());
    for (std::size_t l = layers.size(); l-- > 0;) {
        charge(pass, of_layer);
        left(layers[l]);
    }
}

template <class Walk>
void PassRunner::walk(const PassKey& key, const Pass& pass, Walk&& walk) {
    if (!own_) return walk();
    const double begin = now_seconds();
    const double kernels_before = pass.stream.ledger.seconds();
    const ProductWork products_before = pass.stream.products;
    walk();
    const double kernels = pass.stream.ledger.seconds() - kernels_before;
    const ProductWork products = pass.stream.products - products_before;
    const PassTime time{.products = products,
                        .other_kernels = kernels - products.seconds,
                        .waits = std::max(0.0, now_seconds() - begin - kernels)};
    (rehearses_ ? *shared_ : *own_).insert({key, time});
}

// What a walk finds of the passes before it, where these were not walked: nobody's time, and nobody's messages.
void PassRunner::prepare(const Stage& stage, const Pass& pass, Flight& flight, bool for_weights) {
    const bool is_there = for_weights ? !flight.grad_outputs.empty() : !flight.states.empty();
    if (is_there) return;
    flight.clear();
    Stream quiet_stream{.backend = GhostStream{}};
    std::unique_ptr<Communicator> nobody;
    std::optional<TensorGroup> quiet_group;
    if (pass.group != nullptr) {
        const Communicator& ranks = pass.group->ranks;
        nobody = ghost_group(ranks.name(), ranks.rank(), ranks.size());
        quiet_group.emplace(TensorGroup{*nobody, pass.group->exchange, pass.group->cuts_rows});
    }
    const Pass quiet{.stream = quiet_stream,
                     .batch = pass.batch,
                     .scratch = pass.scratch,
                     .dtype = pass.dtype,
                     .is_training = pass.is_training,
                     .group = quiet_group ? &*quiet_group : nullptr,
                     .resizing = pass.resizing,
                     .helped = pass.helped};
    const auto neighbour = [&](bool is_end) {
        return is_end ? Tensor{} : flight.kept.tensor(pass.dtype, own_rows(pass).count, stage.width());
    };
    stage.forward(quiet, neighbour(stage.is_first()), flight, workspace_);
    if (for_weights)
        stage.backward_input(quiet, neighbour(stage.is_last()), neighbour(stage.is_first()), flight);
}

Tensor PassRunner::forward(const Stage& stage, int number, const Pass& pass, ConstTensor input,
                           Flight& flight) {
    const PassKey key = key_of(Op::forward, number, pass);
    if (const PassTime* const time = known(key)) {
        charge(pass, *time);
        if (stage.is_last()) return {};
        return flight.kept.tensor(pass.dtype, own_rows(pass).count, stage.width());
    }
    Tensor output;
    walk(key, pass, [&] { output = stage.forward(pass, input, flight, workspace_); });
    return output;
}

void PassRunner::backward(const Stage& stage, int number, const Pass& pass, ConstTensor grad_output,
                          Tensor grad_input, Flight& flight, const LayerLeft& left, bool is_last) {
    const PassKey key = key_of(Op::backward, number, pass);
    if (const PassTime* const time = known(key))
        return is_last ? charge_layers(stage, pass, *time, left) : charge(pass, *time);
    if (own_) prepare(stage, pass, flight, false);
    walk(key, pass, [&] { stage.backward(pass, grad_output, grad_input, flight, workspace_, left); });
}

void PassRunner::backward_input(const Stage& stage, int number, const Pass& pass, ConstTensor grad_output,
                                Tensor grad_input, Flight& flight) {
    const PassKey key = key_of(Op::backward_input, number, pass);
    if (const PassTime* const time = known(key)) return charge(pass, *time);
    if (own_) prepare(stage, pass, flight, false);
    walk(key, pass, [&] { stage.backward_input(pass, grad_output, grad_input, flight); });
}

void PassRunner::backward_weight(const Stage& stage, int number, const Pass& pass, Flight& flight,
                                 const LayerLeft& left, bool is_last) {
    const PassKey key = key_of(Op::backward_weight, number, pass);
    if (const PassTime* const time = known(key))
        return is_last ? charge_layers(stage, pass, *time, left) : charge(pass, *time);
    if (own_) prepare(stage, pass, flight, true);
    walk(key, pass, [&] { stage.backward_weight(pass, flight, left); });
}

LossState PassRunner::outcome(const Stage& stage, const Flight& flight) {
    return flight.states.empty() ? LossState{} : stage.outcome(flight);
}

}  // namespace trireme
