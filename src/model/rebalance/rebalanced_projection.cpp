#include "model/rebalance/rebalanced_projection.hpp"

#include "model/layers/matmul_work.hpp"
#include "model/rebalance/compact_channels.hpp"
#include "model/rebalance/offload_messages.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::model {

SelectedChannels* RebalancedProjection::find_kept_channels(const Pass& pass) const {
    const bool may_prune = pass.is_training && rebalancing_.resizing != nullptr;
    return may_prune ? rebalancing_.resizing->at(id_) : nullptr;
}

const OffloadedMatmul* RebalancedProjection::find_offloading(const Pass& pass) const {
    const bool may_offload = pass.is_training && rebalancing_.offloaded_work != nullptr;
    return may_offload ? rebalancing_.offloaded_work->at(id_) : nullptr;
}

bool RebalancedProjection::can_fuse(const Pass& pass, kernels::ActivationKind activation) const {
    return find_offloading(pass) == nullptr && find_kept_channels(pass) == nullptr &&
           Projection::can_fuse(pass, activation);
}

double RebalancedProjection::compute_whole_ratio(const SelectedChannels& kept) const {
    return static_cast<double>(input_width()) / static_cast<double>(kept.channels.size());
}

void RebalancedProjection::forward_kept(const Pass& pass, Weights weights, device::ConstTensor input,
                                        device::Tensor output, const SelectedChannels& kept) const {
    const device::ArenaScope scope(pass.scratch);
    const device::ConstTensor compact_input = gather_selected_input(pass, input, kept);
    for_each_matrix([&](const Matrix& matrix) {
        const device::ArenaScope matrix_scope(pass.scratch);
        kernels::Linear matmul = make_forward_matmul(matrix, weights, compact_input, output);
        matmul.weight = gather_selected_weight(pass, matmul.weight, axes(), kept);
        launch_matmul(pass.stream, matmul, compute_whole_ratio(kept));
    });
}

void RebalancedProjection::backward_input_kept(const Pass& pass, Weights weights,
                                               device::ConstTensor grad_output, device::Tensor grad_input,
                                               SelectedChannels& kept) const {
    const device::ArenaScope scope(pass.scratch);
    const device::Tensor compact_gradient = allocate_compact_input(pass, grad_input.rows, kept);
    for_each_matrix([&](const Matrix& matrix) {
        const device::ArenaScope matrix_scope(pass.scratch);
        kernels::LinearBackwardInput matmul =
            make_backward_input_matmul(matrix, weights, grad_output, compact_gradient);
        matmul.weight = gather_selected_weight(pass, matmul.weight, axes(), kept);
        launch_matmul(pass.stream, matmul, compute_whole_ratio(kept));
    });
    expand_input_gradient(pass, compact_gradient, kept, grad_input);
}

void RebalancedProjection::backward_weight_kept(const Pass& pass, device::ConstTensor input,
                                                device::ConstTensor grad_output, Gradients gradients,
                                                SelectedChannels& kept) const {
    const device::ArenaScope scope(pass.scratch);
    const device::ConstTensor compact_input = gather_selected_input(pass, input, kept);
    for_each_matrix([&](const Matrix& matrix) {
        const device::ArenaScope matrix_scope(pass.scratch);
        kernels::LinearBackwardWeight matmul =
            make_backward_weight_matmul(matrix, compact_input, grad_output, gradients);
        const device::Tensor grad_weight = matmul.grad_weight;
        matmul.grad_weight = allocate_compact_weight(pass, grad_weight, axes(), kept);
        launch(pass.stream, kernels::Fill{.output = matmul.grad_weight, .value = 0});
        launch_matmul(pass.stream, matmul, compute_whole_ratio(kept));
        expand_weight_gradient(pass, matmul.grad_weight, axes(), kept, matrix.index, grad_weight);
    });
}

void RebalancedProjection::forward_own(const Pass& pass, Weights weights, device::ConstTensor input,
                                       device::Tensor output, HelperStates& helper_states, device::Arena& stash,
                                       const FusedActivation& activation) const {
    if (const SelectedChannels* const kept = find_kept_channels(pass))
        return forward_kept(pass, weights, input, output, *kept);
    Projection::forward(pass, weights, input, output, helper_states, stash, activation);
}

void RebalancedProjection::backward_input_own(const Pass& pass, Weights weights,
                                              device::ConstTensor grad_output, device::Tensor grad_input,
                                              HelperStates& helper_states, device::Arena& stash,
                                              const FusedActivation& activation) const {
    if (SelectedChannels* const kept = find_kept_channels(pass))
        return backward_input_kept(pass, weights, grad_output, grad_input, *kept);
    Projection::backward_input(pass, weights, grad_output, grad_input, helper_states, stash, activation);
}

void RebalancedProjection::backward_weight_own(const Pass& pass, device::ConstTensor input,
                                               device::ConstTensor grad_output,
                                               const HelperStates& helper_states, Gradients gradients) const {
    if (SelectedChannels* const kept = find_kept_channels(pass))
        return backward_weight_kept(pass, input, grad_output, gradients, *kept);
    Projection::backward_weight(pass, input, grad_output, helper_states, gradients);
}

// With a replicated input, this rank first computes its helper tasks, so that the reduction of their results to
// the owners overlaps with this rank's own matmul.
void RebalancedProjection::forward(const Pass& pass, Weights weights, device::ConstTensor input,
                                   device::Tensor output, HelperStates& helper_states, device::Arena& stash,
                                   const FusedActivation& activation) const {
    const OffloadedMatmul* const offloaded_matmul = find_offloading(pass);
    if (offloaded_matmul == nullptr)
        return forward_own(pass, weights, input, output, helper_states, stash, activation);
    const device::ArenaScope scope(pass.scratch);
    OffloadMessages messages(pass, *offloaded_matmul);
    helper_states.assign(offloaded_matmul->helper_tasks.size(), {});
    messages.send_weights(select_matrices(weights), axes());
    messages.receive_weights(helper_states, stash);
    if (input_sharding_ == InputSharding::replicated) {
        messages.post_term_receives(input.rows, output.columns);
        messages.wait();
        for (std::size_t t = 0; t < helper_states.size(); ++t) {
            const device::ConstTensor compact_input =
                gather_selected_input(pass, input, offloaded_matmul->helper_tasks[t].channels);
            messages.send_partial_sum(
                offloaded_matmul->helper_tasks[t],
                compute_output(pass, offloaded_matmul->helper_tasks[t], helper_states[t], compact_input));
        }
        forward_own(pass, weights, input, output, helper_states, stash, {});
        messages.add_received_terms(output);
    } else {
        messages.send_input(input);
        messages.receive_input(helper_states, stash);
        forward_own(pass, weights, input, output, helper_states, stash, {});
        messages.wait();
        for (std::size_t t = 0; t < helper_states.size(); ++t)
            add_output(pass, offloaded_matmul->helper_tasks[t], helper_states[t], output);
    }
    messages.finish();
}

void RebalancedProjection::backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                          device::Tensor grad_input, HelperStates& helper_states,
                                          device::Arena& stash, const FusedActivation& activation) const {
    if (find_offloading(pass) == nullptr)
        return backward_input_own(pass, weights, grad_output, grad_input, helper_states, stash, activation);
    if (input_sharding_ == InputSharding::replicated)
        return backward_with_reduction(pass, weights, grad_output, grad_input, helper_states, stash);
    backward_with_returns(pass, weights, grad_output, grad_input, helper_states, stash);
}

void RebalancedProjection::backward_with_reduction(const Pass& pass, Weights weights,
                                                   device::ConstTensor grad_output, device::Tensor grad_input,
                                                   HelperStates& helper_states, device::Arena& stash) const {
    const OffloadedMatmul& offloaded_matmul = *find_offloading(pass);
    OffloadMessages messages(pass, offloaded_matmul);
    messages.allocate_output_gradients(grad_output.rows, helper_states, stash);
    const device::ArenaScope scope(pass.scratch);  // after allocations from `stash`, which may be pass.scratch
    messages.broadcast(grad_output, helper_states);
    backward_input_own(pass, weights, grad_output, grad_input, helper_states, stash, {});
    messages.wait();
    for (std::size_t t = 0; t < offloaded_matmul.helper_tasks.size(); ++t) {
        const device::Tensor result = compute_input_gradient(pass, offloaded_matmul.helper_tasks[t],
                                                             helper_states[t], helper_states[t].grad_output);
        add_to_input_gradient(pass, result, offloaded_matmul.helper_tasks[t].channels, grad_input);
    }
    messages.finish();
}

void RebalancedProjection::backward_with_returns(const Pass& pass, Weights weights,
                                                 device::ConstTensor grad_output, device::Tensor grad_input,
                                                 HelperStates& helper_states, device::Arena& stash) const {
    const device::ArenaScope scope(pass.scratch);
    const OffloadedMatmul& offloaded_matmul = *find_offloading(pass);
    OffloadMessages messages(pass, offloaded_matmul);
    std::vector<device::Tensor> results;
    for (const OffloadedChannels& each : offloaded_matmul.offloaded) {
        results.push_back(allocate_compact_input(pass, grad_input.rows, each.channels));
        messages.receive_result(each, results.back());
    }
    for (std::size_t t = 0; t < offloaded_matmul.helper_tasks.size(); ++t)
        messages.send_result(
            offloaded_matmul.helper_tasks[t],
            compute_input_gradient(pass, offloaded_matmul.helper_tasks[t], helper_states[t], grad_output));
    backward_input_own(pass, weights, grad_output, grad_input, helper_states, stash, {});
    messages.finish();
    for (std::size_t r = 0; r < results.size(); ++r)
        copy_into_input_gradient(pass, results[r], offloaded_matmul.offloaded[r].channels, grad_input);
}

void RebalancedProjection::backward_weight(const Pass& pass, device::ConstTensor input,
                                           device::ConstTensor grad_output, const HelperStates& helper_states,
                                           Gradients gradients) const {
    const OffloadedMatmul* const offloaded_matmul = find_offloading(pass);
    if (offloaded_matmul == nullptr)
        return backward_weight_own(pass, input, grad_output, helper_states, gradients);
    const device::ArenaScope scope(pass.scratch);
    OffloadMessages messages(pass, *offloaded_matmul);
    const std::vector<device::Tensor> grad_weights = select_matrices(gradients);
    std::vector<device::Tensor> results;
    for (const OffloadedChannels& each : offloaded_matmul->offloaded) {
        for (const device::Tensor& grad_weight : grad_weights) {
            results.push_back(allocate_compact_weight(pass, grad_weight, axes(), each.channels));
            messages.receive_result(each, results.back());
        }
    }
    for (std::size_t t = 0; t < offloaded_matmul->helper_tasks.size(); ++t)
        send_weight_gradients(pass, input, grad_output, offloaded_matmul->helper_tasks[t], helper_states[t],
                              messages);
    backward_weight_own(pass, input, grad_output, helper_states, gradients);
    messages.finish();
    for (std::size_t r = 0; r < results.size(); ++r) {
        const OffloadedChannels& each = offloaded_matmul->offloaded[r / grad_weights.size()];
        add_to_weight_gradient(pass, results[r], axes(), each.channels, grad_weights[r % grad_weights.size()]);
    }
}

void RebalancedProjection::send_weight_gradients(const Pass& pass, device::ConstTensor input,
                                                 device::ConstTensor grad_output, const HelperTask& task,
                                                 const HelperState& state, OffloadMessages& messages) const {
    // With a replicated input, this rank has the owner's input and has received the owner's output gradient.
    // With a sharded input, this rank has received the input, and the output gradient is equal on all ranks.
    const bool has_owner_input = input_sharding_ == InputSharding::replicated;
    const device::ConstTensor compact_input =
        has_owner_input ? gather_selected_input(pass, input, task.channels) : device::ConstTensor(state.input);
    const device::ConstTensor owner_grad_output =
        has_owner_input ? device::ConstTensor(state.grad_output) : grad_output;
    for (const device::Tensor& result : compute_weight_gradients(pass, task, compact_input, owner_grad_output))
        messages.send_result(task, result);
}

}  // namespace trireme::model
