#include "model/rebalance/offload_messages.hpp"

#include <array>

#include "model/rebalance/compact_channels.hpp"
#include "trireme/kernels/dropout.hpp"

namespace trireme::model {

OffloadMessages::OffloadMessages(const Pass& pass, const OffloadedMatmul& matmul)
    : pass_(pass), matmul_(matmul), team_(pass.group->communicator) {}

void OffloadMessages::send_weights(const std::vector<device::ConstTensor>& weights, kernels::WeightAxes axes) {
    for (const OffloadedChannels& offloaded : matmul_.offloaded) {
        for (const device::ConstTensor& weight : weights)
            send(gather_selected_weight(pass_, weight, axes, offloaded.channels), offloaded.helper);
    }
}

void OffloadMessages::send_input(device::ConstTensor input) {
    for (const OffloadedChannels& offloaded : matmul_.offloaded)
        send(gather_selected_input(pass_, input, offloaded.channels), offloaded.helper);
}

void OffloadMessages::receive_weights(HelperStates& states, device::Arena& stash) {
    for (std::size_t t = 0; t < matmul_.helper_tasks.size(); ++t) {
        const HelperTask& task = matmul_.helper_tasks[t];
        states[t].weights = allocate_weights(task, pass_.dtype, stash);
        for (const device::Tensor& weight : states[t].weights) receive(weight, task.owner);
    }
}

void OffloadMessages::receive_input(HelperStates& states, device::Arena& stash) {
    for (std::size_t t = 0; t < matmul_.helper_tasks.size(); ++t) {
        const HelperTask& task = matmul_.helper_tasks[t];
        states[t].input = stash.tensor(pass_.dtype, pass_.batch.rows(), count_channels(task));
        receive(states[t].input, task.owner);
    }
}

void OffloadMessages::allocate_output_gradients(std::size_t rows, HelperStates& states,
                                                device::Arena& stash) const {
    for (std::size_t t = 0; t < matmul_.helper_tasks.size(); ++t)
        states[t].grad_output = stash.tensor(pass_.dtype, rows, matmul_.helper_tasks[t].shape.outputs());
}

void OffloadMessages::broadcast(device::ConstTensor grad_output, const HelperStates& states) {
    const int own_rank = team_.rank();
    if (!matmul_.offloaded.empty()) {
        for (const int child : matmul_.trees.at(own_rank).find_children(own_rank)) send(grad_output, child);
    }
    for (std::size_t t = 0; t < matmul_.helper_tasks.size(); ++t) {
        const layout::BroadcastTree& tree = matmul_.trees.at(matmul_.helper_tasks[t].owner);
        receive(states[t].grad_output, *tree.find_parent(own_rank));
        const std::vector<int> children = tree.find_children(own_rank);
        if (children.empty()) continue;
        wait();
        for (const int child : children) send(states[t].grad_output, child);
    }
}

void OffloadMessages::post_term_receives(std::size_t rows, std::size_t own_outputs) {
    const int own_rank = team_.rank();
    const auto post_receives = [&](int owner, std::size_t outputs) {
        for (const int child : matmul_.trees.at(owner).find_children(own_rank)) {
            const device::Tensor term = pass_.scratch.tensor(pass_.dtype, rows, outputs);
            pending_terms_[owner].push_back({term, team_.start_receive(term, child)});
        }
    };
    if (!matmul_.offloaded.empty()) post_receives(own_rank, own_outputs);
    for (const HelperTask& task : matmul_.helper_tasks) post_receives(task.owner, task.shape.outputs());
}

void OffloadMessages::add_terms(int owner, device::Tensor sum) {
    for (const PendingTerm& pending : pending_terms_[owner]) {
        team_.wait(std::array{pending.id});
        launch(pass_.stream,
               kernels::ResidualAdd{.residual = sum, .input = pending.term, .output = sum, .dropout = {}});
    }
}

void OffloadMessages::send_partial_sum(const HelperTask& task, device::Tensor own_term) {
    add_terms(task.owner, own_term);
    send(own_term, *matmul_.trees.at(task.owner).find_parent(team_.rank()));
}

void OffloadMessages::add_received_terms(device::Tensor output) {
    if (!matmul_.offloaded.empty()) add_terms(team_.rank(), output);
}

void OffloadMessages::wait() {
    team_.wait(pending_receives_);
    pending_receives_.clear();
}

void OffloadMessages::finish() {
    wait();
    team_.wait(pending_sends_);
    pending_sends_.clear();
}

}  // namespace trireme::model
