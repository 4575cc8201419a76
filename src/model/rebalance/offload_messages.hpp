// Messages and helper matmuls of one call (forward, backward_input or backward_weight) of a projection with
// offloaded channels. X is the input of the offloaded channels, and W has their weights. The output Y of the
// projection is a sum, and X W is one of its terms. dX, dW and dY are the gradients of X, W and Y.
#pragma once

#include <map>
#include <vector>

#include "model/rebalance/rebalanced_projection.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {

// Matmuls with channels that another rank (the owner) has offloaded to this rank. In shapes, `channels` is the
// number of offloaded channels, and `outputs` is the number of the owner's output channels. Returned tensors
// are in the scratch memory of the pass unless an arena is given.

// Returns the number of offloaded channels of the task.
std::size_t count_channels(const HelperTask& task);
// Returns uninitialized tensors for W or dW, one per matrix: (channels, outputs of the matrix) or the reverse,
// by the axis order of the weight.
std::vector<device::Tensor> allocate_weights(const HelperTask& task, device::DType dtype, device::Arena& arena);

// Returns X W: (rows, outputs).
device::Tensor compute_output(const Pass& pass, const HelperTask& task, const HelperState& state,
                              device::ConstTensor input);
// Computes output += X W, where X is state.input and `output` is (rows, outputs).
void add_output(const Pass& pass, const HelperTask& task, const HelperState& state, device::Tensor output);
// Returns dX = dY W^T: (rows, channels).
device::Tensor compute_input_gradient(const Pass& pass, const HelperTask& task, const HelperState& state,
                                      device::ConstTensor grad_output);
// Returns dW = X^T dY, one tensor per matrix, with the shapes of allocate_weights().
std::vector<device::Tensor> compute_weight_gradients(const Pass& pass, const HelperTask& task,
                                                     device::ConstTensor input,
                                                     device::ConstTensor grad_output);

// The point-to-point messages of this rank in one call of the projection: with its helpers, with the owners
// that it helps, and with other helpers of these owners (in a broadcast tree). `states` has one element per
// helper task, in the order of OffloadedMatmul::helper_tasks. Received tensors are valid after wait().
class OffloadMessages {
public:
    // Sent tensors must not change before finish(). `pass` and `matmul` must outlive this object.
    OffloadMessages(const Pass& pass, const OffloadedMatmul& matmul);

    // On an owner: send to each helper the weights, or the input, of the channels that the helper computes.
    // `weights` (one tensor per matrix) and `input` have all channels of the owner. On other ranks these are
    // no-ops.
    void send_weights(const std::vector<device::ConstTensor>& weights, kernels::WeightAxes axes);
    void send_input(device::ConstTensor input);
    // On a helper: start to receive these tensors into tensors from `stash`. On other ranks these are no-ops.
    void receive_weights(HelperStates& states, device::Arena& stash);
    void receive_input(HelperStates& states, device::Arena& stash);

    // On an owner, receive_result() starts to receive the result of a helper into `result`. On a helper,
    // send_result() sends `result` to the owner.
    void receive_result(const OffloadedChannels& offloaded, device::Tensor result) {
        receive(result, offloaded.helper);
    }
    void send_result(const HelperTask& task, device::ConstTensor result) { send(result, task.owner); }

    // broadcast() sends dY of each owner along the owner's broadcast tree. `grad_output` is dY of this rank. A
    // helper receives dY of an owner, (rows, outputs), into the tensor that allocate_output_gradients() made
    // before. If a helper has children in the tree, broadcast() waits for dY and sends dY to the children.
    void allocate_output_gradients(std::size_t rows, HelperStates& states, device::Arena& stash) const;
    void broadcast(device::ConstTensor grad_output, const HelperStates& states);

    // Reduce the terms X W, (rows, outputs), from helpers to their owner along the owner's tree.
    // post_term_receives() posts the receives from the children of this rank; `own_outputs` is this rank's
    // number of output channels. send_partial_sum() waits for the terms of a helper's children, adds them to
    // `own_term` and sends the sum to the parent. add_received_terms() waits for the terms of an owner's
    // children and adds them to `output`; on other ranks it is a no-op.
    void post_term_receives(std::size_t rows, std::size_t own_outputs);
    void send_partial_sum(const HelperTask& task, device::Tensor own_term);
    void add_received_terms(device::Tensor output);

    // Waits for all receives except those of post_term_receives().
    void wait();
    // Calls wait(), and waits for all sends.
    void finish();

private:
    // A term of Y, or a sum of such terms, that this rank receives from a child.
    struct PendingTerm {
        device::Tensor term;  // (rows, outputs)
        comm::Communicator::RequestId id = 0;
    };

    void send(device::ConstTensor tensor, int to) { pending_sends_.push_back(team_.start_send(tensor, to)); }
    void receive(device::Tensor tensor, int from) {
        pending_receives_.push_back(team_.start_receive(tensor, from));
    }
    // Waits for the terms of the children in the tree of `owner`, and adds them to `sum`.
    void add_terms(int owner, device::Tensor sum);

    const Pass& pass_;
    const OffloadedMatmul& matmul_;
    comm::Communicator& team_;
    std::vector<comm::Communicator::RequestId> pending_receives_, pending_sends_;
    std::map<int, std::vector<PendingTerm>> pending_terms_;  // per owner
};

}  // namespace trireme::model
