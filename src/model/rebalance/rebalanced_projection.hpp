// A projection that is rebalanced in training passes: a slow rank skips some of its input channels, and helper
// ranks compute others. This decorator is built only if the plan may rebalance; otherwise layers hold the plain
// projection. See Resizing and HelpedProducts.
#pragma once

#include "trireme/model/helped_products.hpp"
#include "trireme/model/projection.hpp"

namespace trireme::model {

class Helping;

// The input of a projection: equal on all tensor ranks, or the rank's own.
enum class Reads : std::uint8_t { all, own };

class RebalancedProjection final : public Projection {
public:
    RebalancedProjection(const Projection& plain, ProjectionPlace place, Reads reads,
                         const Rebalancing& rebalancing)
        : Projection(plain), place_(place), reads_(reads), rebalancing_(rebalancing) {}

    // Collective over the team if channels of this projection are offloaded.
    void forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                 GuestStates& guests, device::Arena& kept,
                 const JoinedActivation& activation = {}) const override;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                        device::Tensor grad_input, GuestStates& guests, device::Arena& kept,
                        const JoinedActivation& activation = {}) const override;
    void backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                         const GuestStates& guests, Gradients gradients) const override;
    bool joins(const Pass& pass, kernels::ActivationKind activation) const override;

    // Compute the matmuls of only the `kept` channels.
    void forward_kept(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                      const KeptChannels& kept) const;
    void backward_input_kept(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                             device::Tensor grad_input, KeptChannels& kept) const;
    void backward_weight_kept(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                              Gradients gradients, KeptChannels& kept) const;

private:
    KeptChannels* kept_channels(const Pass& pass) const;     // null if no channel is skipped
    const HelpedProduct* find_help(const Pass& pass) const;  // null if no rank helps
    double whole_beside(const KeptChannels& kept) const;

    // The matmuls of the channels that this rank computes itself.
    void forward_own(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                     GuestStates& guests, device::Arena& kept, const JoinedActivation& activation) const;
    void backward_input_own(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                            device::Tensor grad_input, GuestStates& guests, device::Arena& kept,
                            const JoinedActivation& activation) const;
    void backward_weight_own(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                             const GuestStates& guests, Gradients gradients) const;

    // Backward with helpers, whose terms join the all-reduce or are sent back to the owners.
    void backward_into_sum(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                           device::Tensor grad_input, GuestStates& guests, device::Arena& kept) const;
    void backward_for_owners(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                             device::Tensor grad_input, GuestStates& guests, device::Arena& kept) const;
    void give_back_weights(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                           const GuestChannels& guest, const GuestState& state, Helping& helping) const;

    ProjectionPlace place_;
    Reads reads_;
    Rebalancing rebalancing_;
};

}  // namespace trireme::model
