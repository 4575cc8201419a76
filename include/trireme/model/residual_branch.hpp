// The common part of the two halves of a block. Each is a branch beside the residual: a first matrix, an
// operation of the half itself, a last matrix, dropout, and the addition to the residual. A norm precedes the
// first matrix or, in bert, follows the sum.
#pragma once

#include <memory>
#include <optional>

#include "trireme/model/config.hpp"
#include "trireme/model/dropout_site.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/norm.hpp"
#include "trireme/model/projection.hpp"

namespace trireme::model {

struct Rebalancing;

// The tensors that a branch keeps for its backward pass and for its weight half. `normed` and `result` may be
// absent if Pass::keeps_little is set. `normed` is absent with a post-norm, `sum` with a pre-norm.
struct BranchState {
    Norm::State norm;
    device::Tensor normed;                // (own rows, width)     input of the first matrix
    device::Tensor inner;                 // (rows, inner width)   output of the first matrix
    device::Tensor result;                // (rows, result width)  input of the last matrix
    device::Tensor sum;                   // (own rows, width)     input of a post-norm
    device::ConstTensor grad_sum;         // (own rows, width)     gradient of residual + branch
    device::ConstTensor grad_projection;  // (rows, width)         gradient of the output of the last matrix
    device::Tensor grad_inner;            // (rows, inner width)
    device::Tensor grad_normed;           // (own rows, width)     gradient of the input of the first matrix
    GuestStates first_guests, last_guests;
    bool is_normed = false;  // the layer before has computed the norm
};

// Names of the parameters of a branch within a block. The channels between the two matrices are divided among
// the tensor ranks.
struct BranchParts {
    std::string norm;  // "ln_1"
    std::vector<Projection::Part> first;
    std::string last;  // "attn.c_proj"
    Channels result;   // input channels of the last matrix
};

class ResidualBranch {
public:
    // `has_bias` is true if this rank has the bias of the last matrix.
    ResidualBranch(const ModelConfig& config, std::size_t block, Site site, const BranchParts& parts,
                   bool has_bias);
    std::vector<ParameterSpec> parameters() const;     // norm, first matrix, last matrix
    std::vector<ProjectionShape> projections() const;  // first matrix, last matrix

    // Makes all later training passes rebalance both projections.
    void rebalance(const Rebalancing& rebalancing);

    // Collective over the tensor group. open() computes state.inner from the input. The caller then fills
    // state.result, from which close() computes the output. `activation` fuses an activation of all of
    // state.inner. `next_norm`, if not null, is computed with the output.
    void open(const Pass& pass, Weights weights, device::ConstTensor input, BranchState& state,
              device::Arena& kept, const JoinedActivation& activation = {}) const;
    device::Tensor close(const Pass& pass, Weights weights, device::ConstTensor input, BranchState& state,
                         device::Arena& kept, const NextNorm* next_norm) const;

    // Collective over the tensor group. backward_close() computes grad_result from grad_output. The caller then
    // fills state.grad_inner, from which backward_open() computes grad_input.
    void backward_close(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                        device::Tensor grad_result, BranchState& state, device::Arena& kept,
                        const JoinedActivation& activation = {}) const;
    void backward_open(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor grad_input,
                       BranchState& state, device::Arena& kept) const;

    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, const BranchState& state, Gradients gradients,
                         device::Arena& scratch) const;

    bool joins_when_opened(const Pass& pass, kernels::ActivationKind activation) const {
        return first_->joins(pass, activation);
    }
    bool joins_when_closed_backward(const Pass& pass, kernels::ActivationKind activation) const {
        return last_->joins(pass, activation);
    }

    // Returns the norm before the first matrix if the layer before may compute it; such a norm is always kept.
    std::optional<NextNorm> norm_of_input(const Pass& pass, Weights weights, BranchState& state) const;

    std::size_t block() const { return block_; }
    std::size_t inner_width() const { return first_->output_width(); }

private:
    void make_next_norm(const Pass& pass, const NextNorm& next, const kernels::ResidualAdd& sum,
                        device::Arena& kept) const;
    device::ConstTensor normed_again(const Pass& pass, Weights weights, device::ConstTensor input,
                                     device::Arena& scratch) const;

    // Return a component's weights or gradients among those of the branch.
    template <class Span>
    Span norm_part(Span all) const {
        return all.first(norm_.parameter_count());
    }
    template <class Span>
    Span first_part(Span all) const {
        return all.subspan(norm_.parameter_count(), first_->parameter_count());
    }
    template <class Span>
    Span last_part(Span all) const {
        return all.last(last_->parameter_count());
    }

    std::size_t block_, width_;
    Site site_;
    bool is_norm_behind_;
    double dropout_;
    Norm norm_;
    std::shared_ptr<const Projection> first_, last_;  // plain or rebalanced; copies of a layer share them
};

}  // namespace trireme::model
