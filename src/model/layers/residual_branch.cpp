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

std::string block_prefix(const ModelConfig& config, std::size_t block) {
    return cat(traits_of(config.family).block.prefix, block, ".");
}

std::vector<Projection::Part> in_block(const std::string& prefix, std::vector<Projection::Part> parts) {
    for (Projection::Part& part : parts) part.name = prefix + part.name;
    return parts;
}

// Return the places of the first and of the last matrix.
ProjectionPlace first_place(std::size_t block, Site site) {
    return {block, site == Site::attention_residual ? layout::Product::attention_in : layout::Product::mlp_in};
}

ProjectionPlace last_place(std::size_t block, Site site) {
    return {block,
            site == Site::attention_residual ? layout::Product::attention_out : layout::Product::mlp_out};
}

// Names the layer of a norm, "transformer.h.1.ln_1", to the value check: it belongs to the next layer.
void name_norm(const Pass& pass, const Norm& norm) {
    if (pass.stream.check == nullptr) return;
    const std::string weight = norm.parameters().front().name;
    pass.stream.check->begin_layer(weight.substr(0, weight.rfind('.')));
}

double last_deviation(const ModelConfig& config) {
    if (!traits_of(config.family).scales_last_matrices) return config.init_deviation;
    return config.init_deviation / std::sqrt(2.0 * static_cast<double>(config.layers));
}

}  // namespace

ResidualBranch::ResidualBranch(const ModelConfig& config, std::size_t block, Site site,
                               const BranchParts& parts, bool has_bias)
    : block_(block),
      width_(config.width),
      site_(site),
      is_norm_behind_(traits_of(config.family).has_post_norm),
      dropout_(config.dropout),
      norm_(config, block_prefix(config, block) + parts.norm),
      first_(std::make_shared<Projection>(config, all_channels(config.width),
                                          in_block(block_prefix(config, block), parts.first),
                                          config.init_deviation)),
      last_(std::make_shared<Projection>(
          config, parts.result,
          std::vector<Projection::Part>{{block_prefix(config, block) + parts.last, all_channels(config.width)}},
          last_deviation(config), has_bias)) {}

void ResidualBranch::rebalance(const Rebalancing& rebalancing) {
    first_ =
        std::make_shared<RebalancedProjection>(*first_, first_place(block_, site_), Reads::all, rebalancing);
    last_ = std::make_shared<RebalancedProjection>(*last_, last_place(block_, site_), Reads::own, rebalancing);
}

std::vector<ParameterSpec> ResidualBranch::parameters() const {
    std::vector<ParameterSpec> specs = norm_.parameters();
    for (ParameterSpec& spec : first_->parameters()) specs.push_back(std::move(spec));
    for (ParameterSpec& spec : last_->parameters()) specs.push_back(std::move(spec));
    return specs;
}

std::vector<ProjectionShape> ResidualBranch::projections() const {
    return {first_->shape(first_place(block_, site_)), last_->shape(last_place(block_, site_))};
}

void ResidualBranch::open(const Pass& pass, Weights weights, device::ConstTensor input, BranchState& state,
                          device::Arena& kept, const JoinedActivation& activation) const {
    const bool is_normed = std::exchange(state.is_normed, false);
    device::ConstTensor read = is_normed ? state.normed : input;
    if (!is_norm_behind_ && !is_normed) {
        const device::Tensor normed =
            (pass.keeps_little ? pass.scratch : kept).tensor(pass.dtype, input.rows, width_);
        norm_.forward(pass, norm_part(weights), input, normed, state.norm, kept);
        if (!pass.keeps_little) state.normed = normed;
        read = normed;
    }
    state.inner = kept.tensor(pass.dtype, pass.batch.rows(), inner_width());
    first_->forward(pass, first_part(weights), whole_rows(pass, read, pass.scratch), state.inner,
                    state.first_guests, kept, activation);
}

device::Tensor ResidualBranch::close(const Pass& pass, Weights weights, device::ConstTensor input,
                                     BranchState& state, device::Arena& kept, const NextNorm* next_norm) const {
    const bool is_cut = input.rows < pass.batch.rows();
    const device::Tensor partial = (is_cut ? pass.scratch : kept).tensor(pass.dtype, pass.batch.rows(), width_);
    last_->forward(pass, last_part(weights), state.result, partial, state.last_guests, kept);
    const device::Tensor projected = sum_over_ranks(pass, partial);
    const device::Tensor sum = is_cut ? kept.tensor(pass.dtype, input.rows, width_) : projected;
    const kernels::ResidualAdd addition{.residual = input,
                                        .input = projected,
                                        .output = sum,
                                        .dropout = dropout_at(pass, dropout_, block_, site_)};
    if (is_norm_behind_) {
        state.sum = sum;
        const device::Tensor output = kept.tensor(pass.dtype, input.rows, width_);
        norm_.forward(pass, norm_part(weights), sum, output, state.norm, kept, addition);
        return output;
    }
    if (next_norm != nullptr) {
        make_next_norm(pass, *next_norm, addition, kept);
    } else {
        launch(pass.stream, addition);
    }
    return sum;
}

void ResidualBranch::make_next_norm(const Pass& pass, const NextNorm& next, const kernels::ResidualAdd& sum,
                                    device::Arena& kept) const {
    const auto& [norm, weights, state, normed, is_normed] = next;
    normed = kept.tensor(pass.dtype, sum.output.rows, width_);
    const bool joins = kernels::joins_sum(pass.stream);
    if (!joins) launch(pass.stream, sum);
    name_norm(pass, norm);
    norm.forward(pass, weights, sum.output, normed, state, kept, joins ? sum : kernels::ResidualAdd{});
    is_normed = true;
}

std::optional<NextNorm> ResidualBranch::norm_of_input(const Pass& pass, Weights weights,
                                                      BranchState& state) const {
    if (is_norm_behind_ || pass.keeps_little) return std::nullopt;
    return NextNorm{.norm = norm_,
                    .weights = norm_part(weights),
                    .state = state.norm,
                    .normed = state.normed,
                    .is_normed = state.is_normed};
}

void ResidualBranch::backward_close(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                    device::Tensor grad_result, BranchState& state, device::Arena& kept,
                                    const JoinedActivation& activation) const {
    state.grad_sum = grad_output;
    if (is_norm_behind_) {
        const device::Tensor grad_sum = kept.tensor(pass.dtype, grad_output.rows, width_);
        norm_.backward_input(pass, norm_part(weights), state.sum, grad_output, {}, grad_sum, state.norm);
        state.grad_sum = grad_sum;
    }
    const device::ConstTensor grad_projection =
        drop_out_backward(pass, state.grad_sum, dropout_at(pass, dropout_, block_, site_), kept);
    state.grad_projection = whole_rows(pass, grad_projection, kept);
    last_->backward_input(pass, last_part(weights), state.grad_projection, grad_result, state.last_guests, kept,
                          activation);
}

void ResidualBranch::backward_open(const Pass& pass, Weights weights, device::ConstTensor input,
                                   device::Tensor grad_input, BranchState& state, device::Arena& kept) const {
    const device::Tensor partial = kept.tensor(pass.dtype, pass.batch.rows(), width_);
    first_->backward_input(pass, first_part(weights), state.grad_inner, partial, state.first_guests, kept);
    state.grad_normed = sum_over_ranks(pass, partial);
    if (is_norm_behind_) {
        launch(
            pass.stream,
            kernels::ResidualAdd{
                .residual = state.grad_sum, .input = state.grad_normed, .output = grad_input, .dropout = {}});
    } else {
        norm_.backward_input(pass, norm_part(weights), input, state.grad_normed, state.grad_sum, grad_input,
                             state.norm);
    }
}

device::ConstTensor ResidualBranch::normed_again(const Pass& pass, Weights weights, device::ConstTensor input,
                                                 device::Arena& scratch) const {
    const device::Tensor normed = scratch.tensor(pass.dtype, input.rows, width_);
    Norm::State unused;
    norm_.forward(pass, norm_part(weights), input, normed, unused, scratch);
    return normed;
}

void ResidualBranch::backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                                     device::ConstTensor grad_output, const BranchState& state,
                                     Gradients gradients, device::Arena& scratch) const {
    last_->backward_weight(pass, state.result, state.grad_projection, state.last_guests, last_part(gradients));
    device::ConstTensor read = is_norm_behind_ ? input : device::ConstTensor(state.normed);
    if (!is_norm_behind_ && pass.keeps_little) read = normed_again(pass, weights, input, scratch);
    first_->backward_weight(pass, whole_rows(pass, read, scratch), state.grad_inner, state.first_guests,
                            first_part(gradients));
    if (is_norm_behind_) {
        norm_.backward_weight(pass, state.sum, grad_output, state.norm, norm_part(gradients));
    } else {
        norm_.backward_weight(pass, input, state.grad_normed, state.norm, norm_part(gradients));
    }
}

}  // namespace trireme::model
