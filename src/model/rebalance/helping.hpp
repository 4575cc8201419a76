// The messages of one call of a projection that somebody helps with.
#pragma once

#include <map>
#include <vector>

#include "model/rebalance/rebalanced_projection.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {

// Products of channels that another rank has lent to this one.
std::size_t channels_of(const GuestChannels& guest);
// The weights, not filled yet.
std::vector<device::Tensor> room_for_weights(const GuestChannels& guest, device::DType dtype,
                                             device::Arena& arena);

// P = X W: (rows, all outputs), from scratch memory.
device::Tensor output_of(const Pass& pass, const GuestChannels& guest, const GuestState& state,
                         device::ConstTensor input);
// output += X W
void add_output(const Pass& pass, const GuestChannels& guest, const GuestState& state, device::Tensor output);
// dX = dY W^T: (rows, channels), from scratch memory.
device::Tensor input_gradient_of(const Pass& pass, const GuestChannels& guest, const GuestState& state,
                                 device::ConstTensor grad_output);
// dW = X^T dY of each matrix, from scratch memory.
std::vector<device::Tensor> weight_gradients_of(const Pass& pass, const GuestChannels& guest,
                                                device::ConstTensor input, device::ConstTensor grad_output);

class Helping {
public:
    // What is sent from scratch memory must stay there until finish(). All of it outlives this.
    Helping(const Pass& pass, const HelpedProduct& product);

    // Of an owner: to each helper its channels of the weights, or of the input.
    void lend_weights(const std::vector<device::ConstTensor>& weights, kernels::WeightAxes axes);
    void lend_input(device::ConstTensor input);
    // Of a helper: they come to memory of `kept`, and are there behind wait().
    void take_in_weights(GuestStates& state, device::Arena& kept);
    void take_in_input(GuestStates& state, device::Arena& kept);

    // From a helper back to the owner, to a place that is filled behind wait().
    void await(const LentChannels& lent, device::Tensor place) { receive(place, lent.helper); }
    void give_back(const GuestChannels& guest, device::ConstTensor made) { send(made, guest.owner); }

    // From an owner to its helpers, what it tells them: starts to go, and to come to the room that was made
    // before. Who has to tell it on waits for it here.
    void make_room_for_told(std::size_t rows, GuestStates& state, device::Arena& kept) const;
    void tell(device::ConstTensor told, const GuestStates& state);

    // Each circle's sum of what its ranks have made of `rows` x the owner's outputs: first room is made for
    // what comes, then a helper adds and sends on, and last the owner adds.
    void await_sums(std::size_t rows, std::size_t own_outputs);
    void send_sum(const GuestChannels& guest, device::Tensor own);
    void add_sum(device::Tensor own);

    void wait();
    void finish();

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
    std::map<int, std::vector<Arriving>> terms_;  // of each circle's sum, by its owner
};

}  // namespace trireme::model
