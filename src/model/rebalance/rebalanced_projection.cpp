#include "model/rebalance/rebalanced_projection.hpp"

#include "model/layers/product_work.hpp"
#include "model/rebalance/helping.hpp"
#include "model/rebalance/kept_channels.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::model {

KeptChannels* RebalancedProjection::kept_channels(const Pass& pass) const {
    const bool may_prune = pass.is_training && rebalancing_.resizing != nullptr;
    return may_prune ? rebalancing_.resizing->at(place_) : nullptr;
}

const HelpedProduct* RebalancedProjection::find_help(const Pass& pass) const {
    const bool may_help = pass.is_training && rebalancing_.helped != nullptr;
    return may_help ? rebalancing_.helped->at(place_) : nullptr;
}

bool RebalancedProjection::joins(const Pass& pass, kernels::ActivationKind activation) const {
    return find_help(pass) == nullptr && kept_channels(pass) == nullptr && Projection::joins(pass, activation);
}

// Returns the ratio of all flops of the matmul to those with the kept channels.
double RebalancedProjection::whole_beside(const KeptChannels& kept) const {
    return static_cast<double>(input_width()) / static_cast<double>(kept.channels.size());
}

void RebalancedProjection::forward_kept(const Pass& pass, Weights weights, device::ConstTensor input,
                                        device::Tensor output, const KeptChannels& kept) const {
    const device::ArenaScope scope(pass.scratch);
    const device::ConstTensor read = kept_input(pass, input, kept);
    for_each_matrix([&](const Matrix& matrix) {
        const device::ArenaScope matrix_scope(pass.scratch);
        kernels::Linear matmul = forward_matmul(matrix, weights, read, output);
        matmul.weight = kept_weight(pass, matmul.weight, axes(), kept);
        multiply(pass.stream, matmul, whole_beside(kept));
    });
}

void RebalancedProjection::backward_input_kept(const Pass& pass, Weights weights,
                                               device::ConstTensor grad_output, device::Tensor grad_input,
                                               KeptChannels& kept) const {
    const device::ArenaScope scope(pass.scratch);
    const device::Tensor made = room_for_input(pass, grad_input.rows, kept);
    for_each_matrix([&](const Matrix& matrix) {
        const device::ArenaScope matrix_scope(pass.scratch);
        kernels::LinearBackwardInput matmul = input_matmul(matrix, weights, grad_output, made);
        matmul.weight = kept_weight(pass, matmul.weight, axes(), kept);
        multiply(pass.stream, matmul, whole_beside(kept));
    });
    spread_input(pass, made, kept, grad_input);
}

void RebalancedProjection::backward_weight_kept(const Pass& pass, device::ConstTensor input,
                                                device::ConstTensor grad_output, Gradients gradients,
                                                KeptChannels& kept) const {
    const device::ArenaScope scope(pass.scratch);
    const device::ConstTensor read = kept_input(pass, input, kept);
    for_each_matrix([&](const Matrix& matrix) {
        const device::ArenaScope matrix_scope(pass.scratch);
        kernels::LinearBackwardWeight matmul = weight_matmul(matrix, read, grad_output, gradients);
        const device::Tensor whole = matmul.grad_weight;
        matmul.grad_weight = room_for_weight(pass, whole, axes(), kept);
        launch(pass.stream, kernels::Fill{.output = matmul.grad_weight, .value = 0});
        multiply(pass.stream, matmul, whole_beside(kept));
        spread_weight(pass, matmul.grad_weight, axes(), kept, matrix.number, whole);
    });
}

void RebalancedProjection::forward_own(const Pass& pass, Weights weights, device::ConstTensor input,
                                       device::Tensor output, GuestStates& guests, device::Arena& kept,
                                       const JoinedActivation& activation) const {
    if (const KeptChannels* const some = kept_channels(pass))
        return forward_kept(pass, weights, input, output, *some);
    Projection::forward(pass, weights, input, output, guests, kept, activation);
}

void RebalancedProjection::backward_input_own(const Pass& pass, Weights weights,
                                              device::ConstTensor grad_output, device::Tensor grad_input,
                                              GuestStates& guests, device::Arena& kept,
                                              const JoinedActivation& activation) const {
    if (KeptChannels* const some = kept_channels(pass))
        return backward_input_kept(pass, weights, grad_output, grad_input, *some);
    Projection::backward_input(pass, weights, grad_output, grad_input, guests, kept, activation);
}

void RebalancedProjection::backward_weight_own(const Pass& pass, device::ConstTensor input,
                                               device::ConstTensor grad_output, const GuestStates& guests,
                                               Gradients gradients) const {
    if (KeptChannels* const some = kept_channels(pass))
        return backward_weight_kept(pass, input, grad_output, gradients, *some);
    Projection::backward_weight(pass, input, grad_output, guests, gradients);
}

// If all ranks read the same input, the channels of other ranks come first, so that the reduction of their
// terms overlaps this rank's own matmul.
void RebalancedProjection::forward(const Pass& pass, Weights weights, device::ConstTensor input,
                                   device::Tensor output, GuestStates& guests, device::Arena& kept,
                                   const JoinedActivation& activation) const {
    const HelpedProduct* const help = find_help(pass);
    if (help == nullptr) return forward_own(pass, weights, input, output, guests, kept, activation);
    const device::ArenaScope scope(pass.scratch);
    Helping helping(pass, *help);
    guests.assign(help->guests.size(), {});
    helping.lend_weights(matrices(weights), axes());
    helping.take_in_weights(guests, kept);
    if (reads_ == Reads::all) {
        helping.await_sums(input.rows, output.columns);
        helping.wait();
        for (std::size_t g = 0; g < guests.size(); ++g) {
            const device::ConstTensor read = kept_input(pass, input, help->guests[g].channels);
            helping.send_sum(help->guests[g], output_of(pass, help->guests[g], guests[g], read));
        }
        forward_own(pass, weights, input, output, guests, kept, {});
        helping.add_sum(output);
    } else {
        helping.lend_input(input);
        helping.take_in_input(guests, kept);
        forward_own(pass, weights, input, output, guests, kept, {});
        helping.wait();
        for (std::size_t g = 0; g < guests.size(); ++g) add_output(pass, help->guests[g], guests[g], output);
    }
    helping.finish();
}

void RebalancedProjection::backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                          device::Tensor grad_input, GuestStates& guests, device::Arena& kept,
                                          const JoinedActivation& activation) const {
    if (find_help(pass) == nullptr)
        return backward_input_own(pass, weights, grad_output, grad_input, guests, kept, activation);
    if (reads_ == Reads::all) return backward_into_sum(pass, weights, grad_output, grad_input, guests, kept);
    backward_for_owners(pass, weights, grad_output, grad_input, guests, kept);
}

void RebalancedProjection::backward_into_sum(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                             device::Tensor grad_input, GuestStates& guests,
                                             device::Arena& kept) const {
    const HelpedProduct& help = *find_help(pass);
    Helping helping(pass, help);
    helping.make_room_for_told(grad_output.rows, guests, kept);
    const device::ArenaScope scope(pass.scratch);  // begins after the above: `kept` may be scratch memory
    helping.tell(grad_output, guests);
    backward_input_own(pass, weights, grad_output, grad_input, guests, kept, {});
    helping.wait();
    for (std::size_t g = 0; g < help.guests.size(); ++g) {
        const device::Tensor made = input_gradient_of(pass, help.guests[g], guests[g], guests[g].grad_output);
        add_to_input(pass, made, help.guests[g].channels, grad_input);
    }
    helping.finish();
}

void RebalancedProjection::backward_for_owners(const Pass& pass, Weights weights,
                                               device::ConstTensor grad_output, device::Tensor grad_input,
                                               GuestStates& guests, device::Arena& kept) const {
    const device::ArenaScope scope(pass.scratch);
    const HelpedProduct& help = *find_help(pass);
    Helping helping(pass, help);
    std::vector<device::Tensor> come;
    for (const LentChannels& each : help.lent) {
        come.push_back(room_for_input(pass, grad_input.rows, each.channels));
        helping.await(each, come.back());
    }
    for (std::size_t g = 0; g < help.guests.size(); ++g)
        helping.give_back(help.guests[g], input_gradient_of(pass, help.guests[g], guests[g], grad_output));
    backward_input_own(pass, weights, grad_output, grad_input, guests, kept, {});
    helping.finish();
    for (std::size_t l = 0; l < help.lent.size(); ++l)
        put_in_input(pass, come[l], help.lent[l].channels, grad_input);
}

void RebalancedProjection::backward_weight(const Pass& pass, device::ConstTensor input,
                                           device::ConstTensor grad_output, const GuestStates& guests,
                                           Gradients gradients) const {
    const HelpedProduct* const help = find_help(pass);
    if (help == nullptr) return backward_weight_own(pass, input, grad_output, guests, gradients);
    const device::ArenaScope scope(pass.scratch);
    Helping helping(pass, *help);
    const std::vector<device::Tensor> own = matrices(gradients);
    std::vector<device::Tensor> come;
    for (const LentChannels& each : help->lent) {
        for (const device::Tensor& matrix : own) {
            come.push_back(room_for_weight(pass, matrix, axes(), each.channels));
            helping.await(each, come.back());
        }
    }
    for (std::size_t g = 0; g < help->guests.size(); ++g)
        give_back_weights(pass, input, grad_output, help->guests[g], guests[g], helping);
    backward_weight_own(pass, input, grad_output, guests, gradients);
    helping.finish();
    for (std::size_t c = 0; c < come.size(); ++c) {
        const LentChannels& each = help->lent[c / own.size()];
        add_to_weight(pass, come[c], axes(), each.channels, own[c % own.size()]);
    }
}

void RebalancedProjection::give_back_weights(const Pass& pass, device::ConstTensor input,
                                             device::ConstTensor grad_output, const GuestChannels& guest,
                                             const GuestState& state, Helping& helping) const {
    const bool is_here = reads_ == Reads::all;  // this rank has the owner's input
    const device::ConstTensor read =
        is_here ? kept_input(pass, input, guest.channels) : device::ConstTensor(state.input);
    const device::ConstTensor gradient = is_here ? device::ConstTensor(state.grad_output) : grad_output;
    for (const device::Tensor& made : weight_gradients_of(pass, guest, read, gradient))
        helping.give_back(guest, made);
}

}  // namespace trireme::model
