// Messages and matmuls of one call of a projection whose channels are partly offloaded.
#pragma once

#include <map>
#include <vector>

#include "model/rebalance/rebalanced_projection.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {

// Matmuls with channels that another rank has offloaded to this one. Tensors come from scratch memory.
std::size_t channels_of(const GuestChannels& guest);
// Returns memory for the weights, from `arena`; not filled.
std::vector<device::Tensor> room_for_weights(const GuestChannels& guest, device::DType dtype,
                                             device::Arena& arena);

// Returns X W: (rows, all outputs).
device::Tensor output_of(const Pass& pass, const GuestChannels& guest, const GuestState& state,
                         device::ConstTensor input);
// Computes output += X W.
void add_output(const Pass& pass, const GuestChannels& guest, const GuestState& state, device::Tensor output);
// Returns dX = dY W^T: (rows, channels).
device::Tensor input_gradient_of(const Pass& pass, const GuestChannels& guest, const GuestState& state,
                                 device::ConstTensor grad_output);
// Returns dW = X^T dY per matrix.
std::vector<device::Tensor> weight_gradients_of(const Pass& pass, const GuestChannels& guest,
                                                device::ConstTensor input, device::ConstTensor grad_output);

// The messages between the owner of a projection and its helpers, during one call on one rank. All are
// point-to-point. Received tensors are valid after wait().
class Helping {
public:
    // Sent tensors must not change before finish(). `pass` and `product` outlive this.
    Helping(const Pass& pass, const HelpedProduct& product);

    // On an owner: send each helper its channels of the weights, or of the input.
    void lend_weights(const std::vector<device::ConstTensor>& weights, kernels::WeightAxes axes);
    void lend_input(device::ConstTensor input);
    // On a helper: receive them into memory of `kept`.
    void take_in_weights(GuestStates& state, device::Arena& kept);
    void take_in_input(GuestStates& state, device::Arena& kept);

    // Receive a helper's result into `place`; send a result to its owner.
    void await(const LentChannels& lent, device::Tensor place) { receive(place, lent.helper); }
    void give_back(const GuestChannels& guest, device::ConstTensor made) { send(made, guest.owner); }

    // tell() broadcasts `told` (the gradient of the output) from an owner to its helpers. A helper receives it
    // into memory of make_room_for_told(). A rank that must forward it waits for it in tell().
    void make_room_for_told(std::size_t rows, GuestStates& state, device::Arena& kept) const;
    void tell(device::ConstTensor told, const GuestStates& state);

    // Reduce terms of (rows, the owner's outputs) from helpers to their owner. await_sums() posts the receives.
    // In send_sum() a helper adds the received terms to `own` and sends the sum; in add_sum() the owner adds.
    void await_sums(std::size_t rows, std::size_t own_outputs);
    void send_sum(const GuestChannels& guest, device::Tensor own);
    void add_sum(device::Tensor own);

    void wait();    // for all receives except those of await_sums()
    void finish();  // for those and for all sends

private:
    struct Arriving {
        device::Tensor term;
        comm::Communicator::Ticket ticket = 0;
    };

    void send(device::ConstTensor tensor, int to) { leaving_.push_back(ranks_.start_send(tensor, to)); }
    void receive(device::Tensor tensor, int from) { arriving_.push_back(ranks_.start_receive(tensor, from)); }
    void add_terms(int owner, device::Tensor sum);

    const Pass& pass_;
    const HelpedProduct& product_;
    comm::Communicator& ranks_;
    std::vector<comm::Communicator::Ticket> arriving_, leaving_;
    std::map<int, std::vector<Arriving>> terms_;  // terms to be received, by owner
};

}  // namespace trireme::model
