#include "trireme/model/helped_projection.hpp"

#include "model/rebalance/helping.hpp"
#include "model/rebalance/kept_channels.hpp"

namespace trireme {

HelpedProjection::HelpedProjection(Projection projection, ProjectionPlace place, Reads reads)
    : projection_(std::move(projection)), place_(place), reads_(reads) {}

const HelpedProduct* HelpedProjection::helped(const Pass& pass) const {
    return pass.is_training && pass.helped != nullptr ? pass.helped->at(place_) : nullptr;
}

bool HelpedProjection::joins(const Pass& pass, ActivationKind activation) const {
    const bool has_one_product = helped(pass) == nullptr && kept_channels(pass, place_) == nullptr;
    return has_one_product && joins_activation(pass.stream, pass.dtype, activation);
}

void HelpedProjection::forward(const Pass& pass, Weights weights, ConstTensor input, Tensor output,
                               State& state, Arena& kept, const JoinedActivation& activation) const {
    if (helped(pass) == nullptr)
        return projection_.forward(pass, weights, input, output, kept_channels(pass, place_), activation);
    const ArenaScope scope(pass.scratch);
    Helping helping(pass, *helped(pass));
    state.assign(helped(pass)->guests.size(), {});
    helping.lend_weights(projection_.matrices(weights), projection_.axes());
    helping.take_in_weights(state, kept);
    if (reads_ == Reads::all) {
        forward_for_owners(pass, weights, input, output, state, helping);
    } else {
        helping.lend_input(input);
        helping.take_in_input(state, kept);
        forward_into_sum(pass, weights, input, output, state, helping);
    }
    helping.finish();
}

// Guests come first, so that their sums travel beside this rank's own product.
void HelpedProjection::forward_for_owners(const Pass& pass, Weights weights, ConstTensor input, Tensor output,
                                          const State& state, Helping& helping) const {
    const std::vector<GuestChannels>& guests = helped(pass)->guests;
    helping.await_sums(input.rows, output.columns);
    helping.wait();
    for (std::size_t g = 0; g < guests.size(); ++g) {
        const ConstTensor read = kept_input(pass, input, guests[g].channels);
        helping.send_sum(guests[g], output_of(pass, guests[g], state[g], read));
    }
    projection_.forward(pass, weights, input, output, kept_channels(pass, place_));
    helping.add_sum(output);
}

void HelpedProjection::forward_into_sum(const Pass& pass, Weights weights, ConstTensor input, Tensor output,
                                        const State& state, Helping& helping) const {
    const std::vector<GuestChannels>& guests = helped(pass)->guests;
    projection_.forward(pass, weights, input, output, kept_channels(pass, place_));
    helping.wait();
    for (std::size_t g = 0; g < guests.size(); ++g) add_output(pass, guests[g], state[g], output);
}

void HelpedProjection::backward_input(const Pass& pass, Weights weights, ConstTensor grad_output,
                                      Tensor grad_input, State& state, Arena& kept,
                                      const JoinedActivation& activation) const {
    if (helped(pass) == nullptr)
        return projection_.backward_input(pass, weights, grad_output, grad_input, kept_channels(pass, place_),
                                          activation);
    if (reads_ == Reads::all) return backward_into_sum(pass, weights, grad_output, grad_input, state, kept);
    backward_for_owners(pass, weights, grad_output, grad_input, state);
}

void HelpedProjection::backward_into_sum(const Pass& pass, Weights weights, ConstTensor grad_output,
                                         Tensor grad_input, State& state, Arena& kept) const {
    const std::vector<GuestChannels>& guests = helped(pass)->guests;
    Helping helping(pass, *helped(pass));
    helping.make_room_for_told(grad_output.rows, state, kept);
    const ArenaScope scope(pass.scratch);  // which may be where a backward pass keeps things, too
    helping.tell(grad_output, state);
    projection_.backward_input(pass, weights, grad_output, grad_input, kept_channels(pass, place_));
    helping.wait();
    for (std::size_t g = 0; g < guests.size(); ++g) {
        const Tensor made = input_gradient_of(pass, guests[g], state[g], state[g].grad_output);
        add_to_input(pass, made, guests[g].channels, grad_input);
    }
    helping.finish();
}

void HelpedProjection::backward_for_owners(const Pass& pass, Weights weights, ConstTensor grad_output,
                                           Tensor grad_input, const State& state) const {
    const ArenaScope scope(pass.scratch);
    const auto& [lent, guests, circles] = *helped(pass);
    Helping helping(pass, *helped(pass));
    std::vector<Tensor> come;
    for (const LentChannels& each : lent) {
        come.push_back(room_for_input(pass, grad_input.rows, each.channels));
        helping.await(each, come.back());
    }
    for (std::size_t g = 0; g < guests.size(); ++g)
        helping.give_back(guests[g], input_gradient_of(pass, guests[g], state[g], grad_output));
    projection_.backward_input(pass, weights, grad_output, grad_input, kept_channels(pass, place_));
    helping.finish();
    for (std::size_t l = 0; l < lent.size(); ++l) put_in_input(pass, come[l], lent[l].channels, grad_input);
}

void HelpedProjection::backward_weight(const Pass& pass, ConstTensor input, ConstTensor grad_output,
                                       const State& state, Gradients gradients) const {
    if (helped(pass) == nullptr)
        return projection_.backward_weight(pass, input, grad_output, gradients, kept_channels(pass, place_));
    const ArenaScope scope(pass.scratch);
    const auto& [lent, guests, circles] = *helped(pass);
    Helping helping(pass, *helped(pass));
    const std::vector<Tensor> matrices = projection_.matrices(gradients);
    std::vector<Tensor> come;
    for (const LentChannels& each : lent) {
        for (const Tensor& matrix : matrices) {
            come.push_back(room_for_weight(pass, matrix, projection_.axes(), each.channels));
            helping.await(each, come.back());
        }
    }
    for (std::size_t g = 0; g < guests.size(); ++g)
        give_back_weights(pass, input, grad_output, guests[g], state[g], helping);
    projection_.backward_weight(pass, input, grad_output, gradients, kept_channels(pass, place_));
    helping.finish();
    for (std::size_t c = 0; c < come.size(); ++c) {
        const LentChannels& each = lent[c / matrices.size()];
        add_to_weight(pass, come[c], projection_.axes(), each.channels, matrices[c % matrices.size()]);
    }
}

void HelpedProjection::give_back_weights(const Pass& pass, ConstTensor input, ConstTensor grad_output,
                                         const GuestChannels& guest, const GuestState& state,
                                         Helping& helping) const {
    const bool is_here = reads_ == Reads::all;  // what the owner read
    const ConstTensor read = is_here ? kept_input(pass, input, guest.channels) : ConstTensor(state.input);
    const ConstTensor gradient = is_here ? ConstTensor(state.grad_output) : grad_output;
    for (const Tensor& made : weight_gradients_of(pass, guest, read, gradient)) helping.give_back(guest, made);
}

}  // namespace trireme
