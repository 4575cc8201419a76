// The messages of one call of a projection that somebody helps with.
#pragma once

#include <map>
#include <vector>

#include "model/rebalance/rebalanced_projection.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme {

// Products of channels that another rank has lent to this one.
std::size_t channels_of(const GuestChannels& guest);
// The weights, not filled yet.
std::vector<Tensor> room_for_weights(const GuestChannels& guest, DType dtype, Arena& arena);

// P = X W: (rows, all outputs), from scratch memory.
Tensor output_of(const Pass& pass, const GuestChannels& guest, const GuestState& state, ConstTensor input);
// output += X W
void add_output(const Pass& pass, const GuestChannels& guest, const GuestState& state, Tensor output);
// dX = dY W^T: (rows, channels), from scratch memory.
Tensor input_gradient_of(const Pass& pass, const GuestChannels& guest, const GuestState& state,
                         ConstTensor grad_output);
// dW = X^T dY of each matrix, from scratch memory.
std::vector<Tensor> weight_gradients_of(const Pass& pass, const GuestChannels& guest, ConstTensor input,
                                        ConstTensor grad_output);

class Helping {
public:
    // What is sent from scratch memory must stay there until finish(). All of it outlives this.
    Helping(const Pass& pass, const HelpedProduct& product);

    // Of an owner: to each helper its channels of the weights, or of the input.
    void lend_weights(const std::vector<ConstTensor>& weights, WeightAxes axes);
    void lend_input(ConstTensor input);
    // Of a helper: they come to memory of `kept`, and are there behind wait().
    void take_in_weights(GuestStates& state, Arena& kept);
    void take_in_input(GuestStates& state, Arena& kept);

    // From a helper back to the owner, to a place that is filled behind wait().
    void await(const LentChannels& lent, Tensor place) { receive(place, lent.helper); }
    void give_back(const GuestChannels& guest, ConstTensor made) { send(made, guest.owner); }

    // From an owner to its helpers, what it tells them: starts to go, and to come to the room that was made
    // before. Who has to tell it on waits for it here.
    void make_room_for_told(std::size_t rows, GuestStates& state, Arena& kept) const;
    void tell(ConstTensor told, const GuestStates& state);

    // Each circle's sum of what its ranks have made of `rows` x the owner's outputs: first room is made for
    // what comes, then a helper adds and sends on, and last the owner adds.
    void await_sums(std::size_t rows, std::size_t own_outputs);
    void send_sum(const GuestChannels& guest, Tensor own);
    void add_sum(Tensor own);

    void wait();
    void finish();

private:
    struct Arriving {
        Tensor term;
        Communicator::Ticket ticket = 0;
    };

    void send(ConstTensor tensor, int to) { leaving_.push_back(ranks_.start_send(tensor, to)); }
    void receive(Tensor tensor, int from) { arriving_.push_back(ranks_.start_receive(tensor, from)); }
    void add_terms(int owner, Tensor sum);

    const Pass& pass_;
    const HelpedProduct& product_;
    Communicator& ranks_;
    std::vector<Communicator::Ticket> arriving_, leaving_;
    std::map<int, std::vector<Arriving>> terms_;  // of each circle's sum, by its owner
};

}  // namespace trireme
