// Messages and helper matmuls in one call of a projection (forward, backward_input or backward_weight) some of
// whose channels are offloaded. X is the input of the offloaded channels, W their rows of the weight, Y the
// output.
#pragma once

#include <map>
#include <vector>

#include "model/rebalance/rebalanced_projection.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {

// Matmuls with channels that another rank (the owner) has offloaded to this rank. In shapes, `channels` is the
// number of offloaded channels, and `outputs` is the number of the owner's output channels. Returned tensors
// are in scratch memory of the pass.
std::size_t count_channels(const HelperTask& task);
// Returns uninitialized tensors for the weights of the channels or their gradients, one per matrix, from
// `arena`.
std::vector<device::Tensor> allocate_weights(const HelperTask& task, device::DType dtype, device::Arena& arena);

// Returns X W: (rows, outputs).
device::Tensor compute_output(const Pass& pass, const HelperTask& task, const HelperState& state,
                              device::ConstTensor input);
// Computes output += X W, where X is state.input.
void add_output(const Pass& pass, const HelperTask& task, const HelperState& state, device::Tensor output);
// Returns dX = dY W^T: (rows, channels).
device::Tensor compute_input_gradient(const Pass& pass, const HelperTask& task, const HelperState& state,
                                      device::ConstTensor grad_output);
// Returns dW = X^T dY, per matrix: (channels, outputs of the matrix) or the reverse.
std::vector<device::Tensor> compute_weight_gradients(const Pass& pass, const HelperTask& task,
                                                     device::ConstTensor input,
                                                     device::ConstTensor grad_output);

// The point-to-point messages of this rank in one call: with its helpers, and with the ranks that it helps
// (owners). Received tensors are valid after wait().
class OffloadMessages {
public:
    // Sent tensors must not change before finish(). `pass` and `matmul` must outlive this object.
    OffloadMessages(const Pass& pass, const OffloadedMatmul& matmul);

    // On an owner: send to each helper its channels of the weights, or of the input.
    void send_weights(const std::vector<device::ConstTensor>& weights, kernels::WeightAxes axes);
    void send_input(device::ConstTensor input);
    // On a helper: receive these channels into tensors from `stash`.
    void receive_weights(HelperStates& states, device::Arena& stash);
    void receive_input(HelperStates& states, device::Arena& stash);

    // On an owner: receives the result of a helper into `result`. On a helper: sends `result` to the owner.
    void receive_result(const OffloadedChannels& offloaded, device::Tensor result) {
        receive(result, offloaded.helper);
    }
    void send_result(const HelperTask& task, device::ConstTensor result) { send(result, task.owner); }

    // broadcast() sends the gradients of the outputs of owners along the broadcast trees of this rank;
    // `grad_output` is the gradient of this rank's output. A helper receives an owner's gradient into the
    // tensor that allocate_output_gradients() made. If a helper has ranks below itself in the tree, broadcast()
    // waits for the gradient and sends it to these ranks.
    void allocate_output_gradients(std::size_t rows, HelperStates& states, device::Arena& stash) const;
    void broadcast(device::ConstTensor grad_output, const HelperStates& states);

    // Reduce terms of Y, (rows, the owner's outputs), from helpers to their owner along the tree.
    // post_term_receives() posts the receives from the ranks below. In send_partial_sum() a helper adds the
    // received terms to `own_term` and sends the sum to the rank above; in add_received_terms() an owner adds
    // the received terms to `output`.
    void post_term_receives(std::size_t rows, std::size_t own_outputs);
    void send_partial_sum(const HelperTask& task, device::Tensor own_term);
    void add_received_terms(device::Tensor output);

    void wait();    // waits for all receives except those of post_term_receives()
    void finish();  // waits for all receives except those of post_term_receives(), and for all sends

private:
    struct PendingTerm {
        device::Tensor term;
        comm::Communicator::RequestId id = 0;
    };

    void send(device::ConstTensor tensor, int to) { pending_sends_.push_back(team_.start_send(tensor, to)); }
    void receive(device::Tensor tensor, int from) {
        pending_receives_.push_back(team_.start_receive(tensor, from));
    }
    void add_terms(int owner, device::Tensor sum);

    const Pass& pass_;
    const OffloadedMatmul& matmul_;
    comm::Communicator& team_;
    std::vector<comm::Communicator::RequestId> pending_receives_, pending_sends_;
    std::map<int, std::vector<PendingTerm>> pending_terms_;  // terms to be received, per owner
};

}  // namespace trireme::model
