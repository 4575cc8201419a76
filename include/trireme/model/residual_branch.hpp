// What the two halves of a block have in common: each is a branch beside the residual that multiplies with a
// first matrix, does something of its own, multiplies with a last one, drops out, and adds. A norm stands
// before the first matrix, or, in bert, behind the sum.
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

// What a branch keeps for its backward pass, and then for its weight half.
struct BranchState {
    Norm::State norm;
    device::Tensor
        normed;  // (own rows, width)     what the first matrix reads, where the norm is before it; may be
                 //                       absent where little is kept
    device::Tensor inner;  // (rows, inner width)   what the first matrix gives
    device::Tensor
        result;          // (rows, result width)  what the last matrix reads; may be absent where little is kept
    device::Tensor sum;  // (own rows, width)     what the norm reads, where it is behind
    device::ConstTensor grad_sum;         // (own rows, width)     gradient of residual + branch
    device::ConstTensor grad_projection;  // (rows, width)         gradient of what the last matrix gives
    device::Tensor grad_inner;            // (rows, inner width)
    device::Tensor grad_normed;           // (own rows, width)     gradient of what the first matrix reads
    GuestStates first_guests, last_guests;
    bool is_normed = false;  // already, by the layer before
};

// The parts of a branch, by their names within a block; what lies between the two matrices is shared by tensor
// ranks.
struct BranchParts {
    std::string norm;  // "ln_1"
    std::vector<Projection::Part> first;
    std::string last;  // "attn.c_proj"
    Channels result;   // that the last matrix reads
};

class ResidualBranch {
public:
    // `has_bias`: whether this rank has the bias of the last matrix.
    ResidualBranch(const ModelConfig& config, std::size_t block, Site site, const BranchParts& parts,
                   bool has_bias);
    std::vector<ParameterSpec> parameters() const;     // of the norm, the first matrix, the last one
    std::vector<ProjectionShape> projections() const;  // the first one and the last one

    // From here on, training passes rebalance both projections.
    void rebalance(const Rebalancing& rebalancing);

    // From the input to state.inner, and from state.result, which must be filled by then, to the output. An
    // activation of all of state.inner may go along with it, and `next_norm` (or none) with the output.
    void open(const Pass& pass, Weights weights, device::ConstTensor input, BranchState& state,
              device::Arena& kept, const JoinedActivation& activation = {}) const;
    device::Tensor close(const Pass& pass, Weights weights, device::ConstTensor input, BranchState& state,
                         device::Arena& kept, const NextNorm* next_norm) const;

    // From grad_output to grad_result, and from state.grad_inner, which must be filled by then, to grad_input.
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

    // The norm before the first matrix, where whoever makes the input may make it; then it is kept.
    std::optional<NextNorm> norm_of_input(const Pass& pass, Weights weights, BranchState& state) const;

    std::size_t block() const { return block_; }
    std::size_t inner_width() const { return first_->output_width(); }

private:
    void make_next_norm(const Pass& pass, const NextNorm& next, const kernels::ResidualAdd& sum,
                        device::Arena& kept) const;
    device::ConstTensor normed_again(const Pass& pass, Weights weights, device::ConstTensor input,
                                     device::Arena& scratch) const;

    // Its own weights or gradients among those of the branch.
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
