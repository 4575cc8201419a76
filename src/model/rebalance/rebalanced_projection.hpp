// A projection that is rebalanced in training passes: a slow rank skips some input channels of the projection
// and offloads others to helper ranks. See Resizing and OffloadedMatmuls. Layers use this class only if the
// plan permits rebalancing, otherwise a plain Projection.
#pragma once

#include "trireme/model/offloaded_matmuls.hpp"
#include "trireme/model/projection.hpp"

namespace trireme::model {

class OffloadMessages;

// The input of a projection: equal on all tensor ranks (the projection is column parallel), or with other
// channels on each of them (row parallel).
enum class InputSharding : std::uint8_t { replicated, sharded };

class RebalancedProjection final : public Projection {
public:
    RebalancedProjection(const Projection& plain, ProjectionId id, InputSharding input_sharding,
                         const Rebalancing& rebalancing)
        : Projection(plain), id_(id), input_sharding_(input_sharding), rebalancing_(rebalancing) {}

    // Collective over the team if channels of this projection are offloaded.
    void forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                 HelperStates& helper_states, device::Arena& stash,
                 const FusedActivation& activation = {}) const override;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                        device::Tensor grad_input, HelperStates& helper_states, device::Arena& stash,
                        const FusedActivation& activation = {}) const override;
    void backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                         const HelperStates& helper_states, Gradients gradients) const override;
    bool can_fuse(const Pass& pass, kernels::ActivationKind activation) const override;

    // Compute the matmuls of `kept`, the channels that this rank computes itself, and no others.
    void forward_kept(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                      const SelectedChannels& kept) const;
    void backward_input_kept(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                             device::Tensor grad_input, SelectedChannels& kept) const;
    void backward_weight_kept(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                              Gradients gradients, SelectedChannels& kept) const;

private:
    SelectedChannels* find_kept_channels(const Pass& pass) const;    // null if this rank computes all
    const OffloadedMatmul* find_offloading(const Pass& pass) const;  // null if this rank is no owner or helper
    double compute_whole_ratio(const SelectedChannels& kept) const;  // see launch_matmul()

    // Compute the matmuls of the channels that this rank computes itself: all channels or the kept ones.
    void forward_own(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                     HelperStates& helper_states, device::Arena& stash,
                     const FusedActivation& activation) const;
    void backward_input_own(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                            device::Tensor grad_input, HelperStates& helper_states, device::Arena& stash,
                            const FusedActivation& activation) const;
    void backward_weight_own(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                             const HelperStates& helper_states, Gradients gradients) const;

    // backward_input() with offloaded channels. The results of helpers join the all-reduce of the input
    // gradient (replicated input), or are sent back to the owners (sharded input).
    void backward_with_reduction(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                 device::Tensor grad_input, HelperStates& helper_states,
                                 device::Arena& stash) const;
    void backward_with_returns(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                               device::Tensor grad_input, HelperStates& helper_states,
                               device::Arena& stash) const;
    void send_weight_gradients(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                               const HelperTask& task, const HelperState& state,
                               OffloadMessages& messages) const;

    ProjectionId id_;
    InputSharding input_sharding_;
    Rebalancing rebalancing_;
};

}  // namespace trireme::model
