#include "model/rebalance/helping.hpp"

#include <array>

#include "model/rebalance/kept_channels.hpp"
#include "trireme/kernels/dropout.hpp"

namespace trireme::model {

Helping::Helping(const Pass& pass, const HelpedProduct& product)
    : pass_(pass), product_(product), ranks_(pass.group->ranks) {}

void Helping::lend_weights(const std::vector<device::ConstTensor>& weights, kernels::WeightAxes axes) {
    for (const LentChannels& lent : product_.lent) {
        for (const device::ConstTensor& weight : weights)
            send(kept_weight(pass_, weight, axes, lent.channels), lent.helper);
    }
}

void Helping::lend_input(device::ConstTensor input) {
    for (const LentChannels& lent : product_.lent) send(kept_input(pass_, input, lent.channels), lent.helper);
}

void Helping::take_in_weights(GuestStates& state, device::Arena& kept) {
    for (std::size_t g = 0; g < product_.guests.size(); ++g) {
        const GuestChannels& guest = product_.guests[g];
        state[g].weights = room_for_weights(guest, pass_.dtype, kept);
        for (const device::Tensor& weight : state[g].weights) receive(weight, guest.owner);
    }
}

void Helping::take_in_input(GuestStates& state, device::Arena& kept) {
    for (std::size_t g = 0; g < product_.guests.size(); ++g) {
        const GuestChannels& guest = product_.guests[g];
        state[g].input = kept.tensor(pass_.dtype, pass_.batch.rows(), channels_of(guest));
        receive(state[g].input, guest.owner);
    }
}

void Helping::make_room_for_told(std::size_t rows, GuestStates& state, device::Arena& kept) const {
    for (std::size_t g = 0; g < product_.guests.size(); ++g)
        state[g].grad_output = kept.tensor(pass_.dtype, rows, product_.guests[g].shape.outputs());
}

void Helping::tell(device::ConstTensor told, const GuestStates& state) {
    const int own = ranks_.rank();
    if (!product_.lent.empty()) {
        for (const int rank : product_.circles.at(own).below(own)) send(told, rank);
    }
    for (std::size_t g = 0; g < product_.guests.size(); ++g) {
        const layout::Circle& circle = product_.circles.at(product_.guests[g].owner);
        receive(state[g].grad_output, *circle.above(own));
        const std::vector<int> below = circle.below(own);
        if (below.empty()) continue;
        wait();
        for (const int rank : below) send(state[g].grad_output, rank);
    }
}

void Helping::await_sums(std::size_t rows, std::size_t own_outputs) {
    const int own = ranks_.rank();
    const auto make_room = [&](int owner, std::size_t outputs) {
        for (const int rank : product_.circles.at(owner).below(own)) {
            const device::Tensor room = pass_.scratch.tensor(pass_.dtype, rows, outputs);
            terms_[owner].push_back({room, ranks_.start_receive(room, rank)});
        }
    };
    if (!product_.lent.empty()) make_room(own, own_outputs);
    for (const GuestChannels& guest : product_.guests) make_room(guest.owner, guest.shape.outputs());
}

void Helping::add_terms(int owner, device::Tensor sum) {
    for (const Arriving& each : terms_[owner]) {
        ranks_.wait(std::array{each.ticket});
        launch(pass_.stream,
               kernels::ResidualAdd{.residual = sum, .input = each.term, .output = sum, .dropout = {}});
    }
}

void Helping::send_sum(const GuestChannels& guest, device::Tensor own) {
    add_terms(guest.owner, own);
    send(own, *product_.circles.at(guest.owner).above(ranks_.rank()));
}

void Helping::add_sum(device::Tensor own) {
    if (!product_.lent.empty()) add_terms(ranks_.rank(), own);
}

void Helping::wait() {
    ranks_.wait(arriving_);
    arriving_.clear();
}

void Helping::finish() {
    wait();
    ranks_.wait(leaving_);
    leaving_.clear();
}

}  // namespace trireme::model
