#include "trireme/stage/pass_runner.hpp"

#include "trireme/comm/communicator.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme {

PassRunner::Key PassRunner::key_of(Op op, int number, const Pass& pass) {
    std::vector<std::size_t> lengths;
    for (const Segment& segment : pass.batch.segments) lengths.push_back(segment.length);
    return {op, number, pass.is_training, std::move(lengths)};
}

const PassRunner::PassTime* PassRunner::known(const Key& key) const {
    if (!known_) return nullptr;
    const auto found = known_->find(key);
    return found == known_->end() ? nullptr : &found->second;
}

// Waiting for tensor ranks is no work of the device.
void PassRunner::charge(const Pass& pass, const PassTime& time) {
    spend_seconds(time.kernels);
    pass.stream.ledger.add({.kernel = "pass"}, time.kernels);
    if (time.waits > 0) rest_seconds(time.waits);
    wait_seconds_ += time.waits;
    if (pass.progress != nullptr) (*pass.progress)();
}

template <class Walk>
void PassRunner::walk(const Key& key, const Pass& pass, Walk&& walk) {
    if (!known_) return walk();
    const double begin = now_seconds();
    const double kernels_before = pass.stream.ledger.seconds();
    walk();
    const double kernels = pass.stream.ledger.seconds() - kernels_before;
    known_->insert({key, {.kernels = kernels, .waits = std::max(0.0, now_seconds() - begin - kernels)}});
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
                     .group = quiet_group ? &*quiet_group : nullptr};
    const auto neighbour = [&](bool is_end) {
        return is_end ? Tensor{} : flight.kept.tensor(pass.dtype, own_rows(pass).count, stage.width());
    };
    stage.forward(quiet, neighbour(stage.is_first()), flight, workspace_);
    if (for_weights)
        stage.backward_input(quiet, neighbour(stage.is_last()), neighbour(stage.is_first()), flight);
}

Tensor PassRunner::forward(const Stage& stage, int number, const Pass& pass, ConstTensor input,
                           Flight& flight) {
    const Key key = key_of(Op::forward, number, pass);
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
    const Key key = key_of(Op::backward, number, pass);
    const PassTime* const time = is_last ? nullptr : known(key);
    if (time != nullptr) return charge(pass, *time);
    if (known_) prepare(stage, pass, flight, false);
    walk(key, pass, [&] { stage.backward(pass, grad_output, grad_input, flight, workspace_, left); });
}

void PassRunner::backward_input(const Stage& stage, int number, const Pass& pass, ConstTensor grad_output,
                                Tensor grad_input, Flight& flight) {
    const Key key = key_of(Op::backward_input, number, pass);
    if (const PassTime* const time = known(key)) return charge(pass, *time);
    if (known_) prepare(stage, pass, flight, false);
    walk(key, pass, [&] { stage.backward_input(pass, grad_output, grad_input, flight); });
}

void PassRunner::backward_weight(const Stage& stage, int number, const Pass& pass, Flight& flight,
                                 const LayerLeft& left, bool is_last) {
    const Key key = key_of(Op::backward_weight, number, pass);
    const PassTime* const time = is_last ? nullptr : known(key);
    if (time != nullptr) return charge(pass, *time);
    if (known_) prepare(stage, pass, flight, true);
    walk(key, pass, [&] { stage.backward_weight(pass, flight, left); });
}

LossState PassRunner::outcome(const Stage& stage, const Flight& flight) {
    return flight.states.empty() ? LossState{} : stage.outcome(flight);
}

}  // namespace trireme
