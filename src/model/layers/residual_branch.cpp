#include "trireme/model/residual_branch.hpp"

#include <cmath>
#include <utility>

#include "model/rebalance/rebalanced_projection.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/model/family.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

// Returns the prefix of the names of a block's parameters, for example "transformer.h.1.".
std::string make_block_prefix(const ModelConfig& config, std::size_t block) {
    return cat(find_traits(config.family).block.prefix, block, ".");
}

std::vector<Projection::MatrixSpec> add_prefix(const std::string& prefix,
                                               std::vector<Projection::MatrixSpec> matrices) {
    for (Projection::MatrixSpec& matrix : matrices) matrix.name = prefix + matrix.name;
    return matrices;
}

// Return the ids of the first and of the last projection of a branch. The branch is the attention half of
// `block` if `site` is DropoutSite::attention_residual, and the MLP half of `block` otherwise.
ProjectionId make_first_projection_id(std::size_t block, DropoutSite site) {
    return {block,
            site == DropoutSite::attention_residual ? layout::Matmul::attention_in : layout::Matmul::mlp_in};
}

ProjectionId make_last_projection_id(std::size_t block, DropoutSite site) {
    return {block,
            site == DropoutSite::attention_residual ? layout::Matmul::attention_out : layout::Matmul::mlp_out};
}

// Makes the value check report the following kernels under the name of the norm, for example
// "transformer.h.1.ln_1". This branch computes the norm, but the norm belongs to the next layer.
void begin_norm_layer(const Pass& pass, const Norm& norm) {
    if (pass.stream.check == nullptr) return;
    const std::string weight = norm.parameters().front().name;
    pass.stream.check->begin_layer(weight.substr(0, weight.rfind('.')));
}

// Returns the standard deviation of the initial weights of a branch's last matrix.
double compute_last_matrix_deviation(const ModelConfig& config) {
    if (!find_traits(config.family).scales_last_matrices) return config.init_deviation;
    return config.init_deviation / std::sqrt(2.0 * static_cast<double>(config.layers));
}

}  // namespace

ResidualBranch::ResidualBranch(const ModelConfig& config, std::size_t block, DropoutSite site,
                               const BranchSpec& spec, bool has_bias)
    : block_(block),
      width_(config.width),
      site_(site),
      has_post_norm_(find_traits(config.family).has_post_norm),
      dropout_(config.dropout),
      norm_(config, make_block_prefix(config, block) + spec.norm),
      first_projection_(std::make_shared<Projection>(
          config, make_all_channels(config.width),
          add_prefix(make_block_prefix(config, block), spec.first_matrices), config.init_deviation)),
      last_projection_(std::make_shared<Projection>(
          config, spec.result_channels,
          std::vector<Projection::MatrixSpec>{
              {make_block_prefix(config, block) + spec.last_matrix, make_all_channels(config.width)}},
          compute_last_matrix_deviation(config), has_bias)) {}

void ResidualBranch::rebalance(const Rebalancing& rebalancing) {
    first_projection_ = std::make_shared<RebalancedProjection>(
        *first_projection_, make_first_projection_id(block_, site_), InputSharding::replicated, rebalancing);
    last_projection_ = std::make_shared<RebalancedProjection>(
        *last_projection_, make_last_projection_id(block_, site_), InputSharding::sharded, rebalancing);
}

std::vector<ParameterSpec> ResidualBranch::parameters() const {
    std::vector<ParameterSpec> specs = norm_.parameters();
    for (ParameterSpec& spec : first_projection_->parameters()) specs.push_back(std::move(spec));
    for (ParameterSpec& spec : last_projection_->parameters()) specs.push_back(std::move(spec));
    return specs;
}

std::vector<ProjectionShape> ResidualBranch::projections() const {
    return {first_projection_->make_shape(make_first_projection_id(block_, site_)),
            last_projection_->make_shape(make_last_projection_id(block_, site_))};
}

void ResidualBranch::compute_inner(const Pass& pass, Weights weights, device::ConstTensor input,
                                   BranchState& state, device::Arena& stash,
                                   const FusedActivation& activation) const {
    // The flag is valid for one forward pass. Full recomputation runs a second forward pass with the same
    // state.
    const bool has_norm_output = std::exchange(state.has_norm_output, false);
    device::ConstTensor first_input = has_norm_output ? state.norm_output : input;
    if (!has_post_norm_ && !has_norm_output) {
        const device::Tensor norm_output =
            (pass.recomputes_selectively ? pass.scratch : stash).tensor(pass.dtype, input.rows, width_);
        norm_.forward(pass, select_norm(weights), input, norm_output, state.norm, stash);
        if (!pass.recomputes_selectively) state.norm_output = norm_output;
        first_input = norm_output;
    }
    state.inner = stash.tensor(pass.dtype, pass.batch.rows(), inner_width());
    first_projection_->forward(pass, select_first_projection(weights),
                               gather_all_rows(pass, first_input, pass.scratch), state.inner,
                               state.first_helper_states, stash, activation);
}

device::Tensor ResidualBranch::compute_output(const Pass& pass, Weights weights, device::ConstTensor input,
                                              BranchState& state, device::Arena& stash,
                                              const NextNorm* next_norm) const {
    // If the rows are cut (sequence parallelism), `partial_sum` has all rows and is temporary, and `sum` has
    // this rank's rows and is stored. Otherwise `partial_sum` and `sum` are the same tensor.
    const bool are_rows_cut = input.rows < pass.batch.rows();
    const device::Tensor partial_sum =
        (are_rows_cut ? pass.scratch : stash).tensor(pass.dtype, pass.batch.rows(), width_);
    last_projection_->forward(pass, select_last_projection(weights), state.result, partial_sum,
                              state.last_helper_states, stash);
    const device::Tensor branch_output = reduce_over_ranks(pass, partial_sum);
    const device::Tensor sum = are_rows_cut ? stash.tensor(pass.dtype, input.rows, width_) : branch_output;
    const kernels::ResidualAdd residual_add{
        .residual = input,
        .input = branch_output,
        .output = sum,
        .dropout = make_dropout_for_own_rows(pass, dropout_, block_, site_)};
    if (has_post_norm_) {
        state.sum = sum;
        const device::Tensor output = stash.tensor(pass.dtype, input.rows, width_);
        norm_.forward(pass, select_norm(weights), sum, output, state.norm, stash, residual_add);
        return output;
    }
    if (next_norm != nullptr) {
        compute_next_norm(pass, *next_norm, residual_add, stash);
    } else {
        launch(pass.stream, residual_add);
    }
    return sum;
}

void ResidualBranch::compute_next_norm(const Pass& pass, const NextNorm& next,
                                       const kernels::ResidualAdd& residual_add, device::Arena& stash) const {
    const auto& [norm, weights, state, norm_output, has_norm_output] = next;
    norm_output = stash.tensor(pass.dtype, residual_add.output.rows, width_);
    const bool is_fused = kernels::fuses_residual_sum(pass.stream);
    if (!is_fused) launch(pass.stream, residual_add);
    begin_norm_layer(pass, norm);
    norm.forward(pass, weights, residual_add.output, norm_output, state, stash,
                 is_fused ? residual_add : kernels::ResidualAdd{});
    has_norm_output = true;
}

std::optional<NextNorm> ResidualBranch::find_input_norm(const Pass& pass, Weights weights,
                                                        BranchState& state) const {
    if (has_post_norm_ || pass.recomputes_selectively) return std::nullopt;
    return NextNorm{.norm = norm_,
                    .weights = select_norm(weights),
                    .state = state.norm,
                    .norm_output = state.norm_output,
                    .has_norm_output = state.has_norm_output};
}

void ResidualBranch::compute_grad_result(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                         device::Tensor grad_result, BranchState& state, device::Arena& stash,
                                         const FusedActivation& activation) const {
    state.grad_sum = grad_output;
    if (has_post_norm_) {
        const device::Tensor grad_sum = stash.tensor(pass.dtype, grad_output.rows, width_);
        norm_.backward_input(pass, select_norm(weights), state.sum, grad_output, {}, grad_sum, state.norm);
        state.grad_sum = grad_sum;
    }
    const device::ConstTensor grad_projection = apply_dropout_backward(
        pass, state.grad_sum, make_dropout_for_own_rows(pass, dropout_, block_, site_), stash);
    state.grad_projection = gather_all_rows(pass, grad_projection, stash);
    last_projection_->backward_input(pass, select_last_projection(weights), state.grad_projection, grad_result,
                                     state.last_helper_states, stash, activation);
}

void ResidualBranch::compute_grad_input(const Pass& pass, Weights weights, device::ConstTensor input,
                                        device::Tensor grad_input, BranchState& state,
                                        device::Arena& stash) const {
    const device::Tensor partial_sum = stash.tensor(pass.dtype, pass.batch.rows(), width_);
    first_projection_->backward_input(pass, select_first_projection(weights), state.grad_inner, partial_sum,
                                      state.first_helper_states, stash);
    state.grad_first_input = reduce_over_ranks(pass, partial_sum);
    if (has_post_norm_) {
        launch(pass.stream, kernels::ResidualAdd{.residual = state.grad_sum,
                                                 .input = state.grad_first_input,
                                                 .output = grad_input,
                                                 .dropout = {}});
    } else {
        norm_.backward_input(pass, select_norm(weights), input, state.grad_first_input, state.grad_sum,
                             grad_input, state.norm);
    }
}

device::ConstTensor ResidualBranch::recompute_norm(const Pass& pass, Weights weights, device::ConstTensor input,
                                                   device::Arena& scratch) const {
    const device::Tensor norm_output = scratch.tensor(pass.dtype, input.rows, width_);
    Norm::State unused_state;
    norm_.forward(pass, select_norm(weights), input, norm_output, unused_state, scratch);
    return norm_output;
}

void ResidualBranch::backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                                     device::ConstTensor grad_output, const BranchState& state,
                                     Gradients gradients, device::Arena& scratch) const {
    last_projection_->backward_weight(pass, state.result, state.grad_projection, state.last_helper_states,
                                      select_last_projection(gradients));
    device::ConstTensor first_input = has_post_norm_ ? input : device::ConstTensor(state.norm_output);
    if (!has_post_norm_ && pass.recomputes_selectively)
        first_input = recompute_norm(pass, weights, input, scratch);
    first_projection_->backward_weight(pass, gather_all_rows(pass, first_input, scratch), state.grad_inner,
                                       state.first_helper_states, select_first_projection(gradients));
    if (has_post_norm_) {
        norm_.backward_weight(pass, state.sum, grad_output, state.norm, select_norm(gradients));
    } else {
        norm_.backward_weight(pass, input, state.grad_first_input, state.norm, select_norm(gradients));
    }
}

}  // namespace trireme::model
