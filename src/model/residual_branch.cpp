#include "trireme/model/residual_branch.hpp"

#include <cmath>

#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/norm.hpp"

namespace trireme {
namespace {

// The order of a branch's parameters.
enum : std::size_t { norm_gain, norm_bias, first_weight, first_bias, last_weight, last_bias };

}  // namespace

RandomKey site_key(const Pass& pass, std::size_t block, Site site) {
    return pass.dropout_key.then(block).then(static_cast<std::uint64_t>(site));
}

Dropout dropout_at(const Pass& pass, double rate, std::size_t block, Site site) {
    return {.rate = pass.is_training ? rate : 0,
            .key = site_key(pass, block, site),
            .samples = pass.batch.visits,
            .positions = pass.batch.positions};
}

ResidualBranch::ResidualBranch(const ModelConfig& config, std::size_t block, Site site, std::size_t inner_width,
                               std::size_t result_width)
    : block_(block),
      blocks_(config.layers),
      width_(config.width),
      inner_width_(inner_width),
      result_width_(result_width),
      site_(site),
      epsilon_(config.norm_epsilon),
      deviation_(config.init_deviation),
      dropout_(config.dropout) {}

std::vector<ParameterSpec> ResidualBranch::parameters(const BranchNames& names) const {
    const auto full = [&](const char* part, const char* kind) {
        return cat("transformer.h.", block_, ".", part, ".", kind);
    };
    const auto vector = [&](const char* part, const char* kind, std::size_t size, Init init) {
        return ParameterSpec{.name = full(part, kind), .columns = size, .init = init};
    };
    const auto matrix = [&](const char* part, std::size_t rows, std::size_t columns, double deviation) {
        return ParameterSpec{.name = full(part, "weight"),
                             .rows = rows,
                             .columns = columns,
                             .init = Init::normal,
                             .deviation = deviation,
                             .decays = true};
    };
    // Two branches of each block add to the residual: their last matrices start smaller, so that the sum of all
    // does not grow with depth. (Radford et al., 2019, section 2.3)
    const double last_deviation = deviation_ / std::sqrt(2.0 * static_cast<double>(blocks_));
    return {vector(names.norm, "weight", width_, Init::ones),
            vector(names.norm, "bias", width_, Init::zeros),
            matrix(names.first, width_, inner_width_, deviation_),
            vector(names.first, "bias", inner_width_, Init::zeros),
            matrix(names.last, result_width_, width_, last_deviation),
            vector(names.last, "bias", width_, Init::zeros)};
}

void ResidualBranch::open(const Pass& pass, Weights weights, ConstTensor input, BranchState& state,
                          Arena& kept) const {
    state.mean = kept.tensor(pass.dtype, 1, input.rows);
    state.inv_std = kept.tensor(pass.dtype, 1, input.rows);
    state.normed = kept.tensor(pass.dtype, input.rows, width_);
    state.inner = kept.tensor(pass.dtype, input.rows, inner_width_);
    launch(pass.stream, LayerNorm{.input = input,
                                  .gain = weights[norm_gain],
                                  .bias = weights[norm_bias],
                                  .output = state.normed,
                                  .mean = state.mean,
                                  .inv_std = state.inv_std,
                                  .epsilon = epsilon_});
    launch(pass.stream, Linear{.input = state.normed,
                               .weight = weights[first_weight],
                               .bias = weights[first_bias],
                               .output = state.inner});
}

Tensor ResidualBranch::close(const Pass& pass, Weights weights, ConstTensor input, const BranchState& state,
                             Arena& kept) const {
    const Tensor output = kept.tensor(pass.dtype, input.rows, width_);
    launch(pass.stream, Linear{.input = state.result,
                               .weight = weights[last_weight],
                               .bias = weights[last_bias],
                               .output = output});
    launch(pass.stream, ResidualAdd{.residual = input,
                                    .input = output,
                                    .output = output,
                                    .dropout = dropout_at(pass, dropout_, block_, site_)});
    return output;
}

void ResidualBranch::backward_close(const Pass& pass, Weights weights, ConstTensor grad_output,
                                    Tensor grad_result, BranchState& state, Arena& kept) const {
    state.grad_projection = grad_output;
    const Dropout dropout = dropout_at(pass, dropout_, block_, site_);
    if (dropout.is_on()) {
        const Tensor grad = kept.tensor(pass.dtype, grad_output.rows, width_);
        launch(pass.stream,
               DropoutBackward{.grad_output = grad_output, .grad_input = grad, .dropout = dropout});
        state.grad_projection = grad;
    }
    launch(pass.stream, LinearBackwardInput{.grad_output = state.grad_projection,
                                            .weight = weights[last_weight],
                                            .grad_input = grad_result});
}

void ResidualBranch::backward_open(const Pass& pass, Weights weights, ConstTensor input,
                                   ConstTensor grad_output, Tensor grad_input, BranchState& state,
                                   Arena& kept) const {
    state.grad_normed = kept.tensor(pass.dtype, input.rows, width_);
    launch(pass.stream, LinearBackwardInput{.grad_output = state.grad_inner,
                                            .weight = weights[first_weight],
                                            .grad_input = state.grad_normed});
    launch(pass.stream, LayerNormBackwardInput{.input = input,
                                               .gain = weights[norm_gain],
                                               .mean = state.mean,
                                               .inv_std = state.inv_std,
                                               .grad_output = state.grad_normed,
                                               .residual = grad_output,
                                               .grad_input = grad_input});
}

void ResidualBranch::backward_weight(const Pass& pass, ConstTensor input, const BranchState& state,
                                     Gradients gradients) const {
    launch(pass.stream, LinearBackwardWeight{.input = state.result,
                                             .grad_output = state.grad_projection,
                                             .grad_weight = gradients[last_weight],
                                             .grad_bias = gradients[last_bias]});
    launch(pass.stream, LinearBackwardWeight{.input = state.normed,
                                             .grad_output = state.grad_inner,
                                             .grad_weight = gradients[first_weight],
                                             .grad_bias = gradients[first_bias]});
    launch(pass.stream, LayerNormBackwardWeight{.input = input,
                                                .mean = state.mean,
                                                .inv_std = state.inv_std,
                                                .grad_output = state.grad_normed,
                                                .grad_gain = gradients[norm_gain],
                                                .grad_bias = gradients[norm_bias]});
}

}  // namespace trireme
