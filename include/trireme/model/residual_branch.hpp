// The computation that the two halves of a block share. Each half is a residual branch: a first projection, the
// attention or activation of the half, a last projection, dropout, and the addition to the residual (the input
// of the half). A norm precedes the first projection (pre-norm) or, in bert, follows the sum (post-norm).
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

// The tensors that a branch stores for backward_input() and backward_weight(). In the shapes, `rows` are all
// rows of the micro-batch, and `own rows` are the rows of find_own_rows(). `width` is the width of the model;
// `inner width` and `result width` are widths on this tensor rank. `norm_output` is absent with a post-norm.
// `sum` is absent with a pre-norm. If Pass::recomputes_selectively is set, `norm_output` is absent, and the MLP
// half's `result` is valid only during forward() and backward_weight().
struct BranchState {
    Norm::State norm;
    device::Tensor norm_output;           // (own rows, width)     input of the first projection
    device::Tensor inner;                 // (rows, inner width)   output of the first projection
    device::Tensor result;                // (rows, result width)  input of the last projection
    device::Tensor sum;                   // (own rows, width)     input of a post-norm
    device::ConstTensor grad_sum;         // (own rows, width)     gradient of residual + branch
    device::ConstTensor grad_projection;  // (rows, width)         gradient of the output of the last projection
    device::Tensor grad_inner;            // (rows, inner width)
    device::Tensor grad_first_input;      // (own rows, width)     gradient of the input of the first projection
    HelperStates first_helper_states, last_helper_states;  // of the first and the last projection
    bool has_norm_output = false;  // true if the preceding layer has computed `norm_output` (see NextNorm)
};

// Names of the parameters of a branch, without the prefix of its block, and the channels that this tensor rank
// holds. The first matrices are column parallel, and the last matrix is row parallel.
struct BranchSpec {
    std::string norm;                                    // for example "ln_1"
    std::vector<Projection::MatrixSpec> first_matrices;  // one fused matrix, or several
    std::string last_matrix;                             // for example "attn.c_proj"
    Channels result_channels;                            // input channels of the last matrix
};

class ResidualBranch {
public:
    // `has_bias` is true if this tensor rank holds the bias of the last matrix.
    ResidualBranch(const ModelConfig& config, std::size_t block, DropoutSite site, const BranchSpec& spec,
                   bool has_bias);
    std::vector<ParameterSpec> parameters() const;     // norm, first projection, last projection
    std::vector<ProjectionShape> projections() const;  // first projection, last projection

    // Makes all later training passes skip or offload channels of both projections. The objects to which
    // `rebalancing` points must outlive these passes.
    void rebalance(const Rebalancing& rebalancing);

    // Forward pass; collective over the tensor group. compute_inner() computes state.inner from `input`. The
    // caller then computes state.result from state.inner. compute_output() computes and returns the output of
    // the half, (own rows, width), from state.result. If `activation` is present, the activation is fused into
    // the matmul that computes state.inner. If `next_norm` is not null, compute_output() also computes this
    // norm.
    void compute_inner(const Pass& pass, Weights weights, device::ConstTensor input, BranchState& state,
                       device::Arena& stash, const FusedActivation& activation = {}) const;
    device::Tensor compute_output(const Pass& pass, Weights weights, device::ConstTensor input,
                                  BranchState& state, device::Arena& stash, const NextNorm* next_norm) const;

    // Backward pass for inputs; collective over the tensor group. compute_grad_result() computes `grad_result`,
    // the gradient of state.result, from `grad_output`. The caller then computes state.grad_inner.
    // compute_grad_input() computes `grad_input` from state.grad_inner. If `activation` is present, its
    // derivative is fused into the matmul of compute_grad_result(), and `grad_result` becomes the gradient of
    // state.inner.
    void compute_grad_result(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                             device::Tensor grad_result, BranchState& state, device::Arena& stash,
                             const FusedActivation& activation = {}) const;
    void compute_grad_input(const Pass& pass, Weights weights, device::ConstTensor input,
                            device::Tensor grad_input, BranchState& state, device::Arena& stash) const;

    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, const BranchState& state, Gradients gradients,
                         device::Arena& scratch) const;

    // Returns true if the activation can be fused into the forward matmul of the first projection.
    bool can_fuse_forward(const Pass& pass, kernels::ActivationKind activation) const {
        return first_projection_->can_fuse(pass, activation);
    }
    // Returns true if the derivative of the activation can be fused into the last projection's
    // backward_input().
    bool can_fuse_backward(const Pass& pass, kernels::ActivationKind activation) const {
        return last_projection_->can_fuse(pass, activation);
    }

    // Returns the norm before the first projection, for the preceding layer to compute. The output of this norm
    // must stay in the stash until backward_weight() ends. Returns nullopt with a post-norm. Returns nullopt
    // also with selective recomputation, because the output of the norm is then not stashed.
    std::optional<NextNorm> find_input_norm(const Pass& pass, Weights weights, BranchState& state) const;

    std::size_t block() const { return block_; }
    std::size_t inner_width() const { return first_projection_->output_width(); }

private:
    void compute_next_norm(const Pass& pass, const NextNorm& next, const kernels::ResidualAdd& residual_add,
                           device::Arena& stash) const;
    device::ConstTensor recompute_norm(const Pass& pass, Weights weights, device::ConstTensor input,
                                       device::Arena& scratch) const;

    // Select the weights or gradients of the norm, or of one projection, from those of the branch.
    template <class Span>
    Span select_norm(Span all) const {
        return all.first(norm_.count_parameters());
    }
    template <class Span>
    Span select_first_projection(Span all) const {
        return all.subspan(norm_.count_parameters(), first_projection_->count_parameters());
    }
    template <class Span>
    Span select_last_projection(Span all) const {
        return all.last(last_projection_->count_parameters());
    }

    std::size_t block_, width_;
    DropoutSite site_;
    bool has_post_norm_;
    double dropout_;
    Norm norm_;
    std::shared_ptr<const Projection> first_projection_, last_projection_;  // shared by copies of a layer
};

}  // namespace trireme::model
