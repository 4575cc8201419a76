// A projection that is rebalanced in training passes: a slow rank skips some input channels of the projection
// or offloads some to helper ranks. See Resizing and OffloadedMatmuls. Layers use this class if the plan
// permits rebalancing, and a plain Projection otherwise.
#pragma once

#include "trireme/model/offloaded_matmuls.hpp"
#include "trireme/model/projection.hpp"

namespace trireme::model {

class OffloadMessages;

// The distribution of the input of a projection over the tensor ranks.
//   replicated   all ranks have the same input; the projection is column parallel
//   sharded      each rank has channels of its own; the projection is row parallel
enum class InputSharding : std::uint8_t { replicated, sharded };

class RebalancedProjection final : public Projection {
public:
    RebalancedProjection(const Projection& plain, ProjectionId id, InputSharding input_sharding,
                         const Rebalancing& rebalancing)
        : Projection(plain), id_(id), input_sharding_(input_sharding), rebalancing_(rebalancing) {}

    // The three passes are collective over the owners and helpers of the team if channels of this projection
    // are offloaded. `activation` must be absent if can_fuse() returns false.
    void forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                 HelperStates& helper_states, device::Arena& stash,
                 const FusedActivation& activation = {}) const override;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                        device::Tensor grad_input, HelperStates& helper_states, device::Arena& stash,
                        const FusedActivation& activation = {}) const override;
    void backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                         const HelperStates& helper_states, Gradients gradients) const override;
    // In training passes, returns false if this rank skips or offloads channels of the projection, or computes
    // channels of the projection for another rank. Otherwise returns Projection::can_fuse().
    bool can_fuse(const Pass& pass, kernels::ActivationKind activation) const override;

    // Compute the matmuls with only the channels `kept`, the channels that this rank computes itself. The
    // backward functions fill the gradients of all other channels (see Filling). If channels are offloaded, the
    // filling must be Filling::zero.
    void forward_kept(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                      const SelectedChannels& kept) const;
    void backward_input_kept(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                             device::Tensor grad_input, SelectedChannels& kept) const;
    void backward_weight_kept(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                              Gradients gradients, SelectedChannels& kept) const;

private:
    // Both return null in evaluation passes. find_kept_channels() also returns null if this rank computes all
    // its channels itself. find_offloading() also returns null if this rank neither offloads channels nor
    // computes channels of other ranks.
    SelectedChannels* find_kept_channels(const Pass& pass) const;
    const OffloadedMatmul* find_offloading(const Pass& pass) const;
    double compute_whole_ratio(const SelectedChannels& kept) const;  // `full_flops_ratio` of launch_matmul()

    // Compute the matmuls with the channels that this rank computes itself: all channels or the kept ones.
    void forward_own(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                     HelperStates& helper_states, device::Arena& stash,
                     const FusedActivation& activation) const;
    void backward_input_own(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                            device::Tensor grad_input, HelperStates& helper_states, device::Arena& stash,
                            const FusedActivation& activation) const;
    void backward_weight_own(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                             const HelperStates& helper_states, Gradients gradients) const;

    // backward_input() with offloaded channels. With a replicated input, backward_with_reduction() adds the
    // results of this rank's helper tasks to `grad_input`. The caller then reduces `grad_input` over the ranks.
    // With a sharded input, backward_with_returns() sends the results of the helper tasks to the owners.
    void backward_with_reduction(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                 device::Tensor grad_input, HelperStates& helper_states,
                                 device::Arena& stash) const;
    void backward_with_returns(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                               device::Tensor grad_input, HelperStates& helper_states,
                               device::Arena& stash) const;
    // Computes the weight gradients of a helper task and sends them to the owner.
    void send_weight_gradients(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                               const HelperTask& task, const HelperState& state,
                               OffloadMessages& messages) const;

    ProjectionId id_;
    InputSharding input_sharding_;
    Rebalancing rebalancing_;
};

}  // namespace trireme::model
