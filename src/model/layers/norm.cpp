#include "trireme/model/norm.hpp"

#include "trireme/kernels/norm.hpp"
#include "trireme/model/family.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

// Indices into Norm::parameters().
enum : std::size_t { gain, bias };

}  // namespace

Norm::Norm(const ModelConfig& config, std::string name)
    : name_(std::move(name)),
      width_(config.width),
      epsilon_(config.norm_epsilon),
      is_rms_(find_traits(config.family).has_rms_norm) {}

std::vector<ParameterSpec> Norm::parameters() const {
    std::vector<ParameterSpec> specs{make_vector_spec(name_ + ".weight", width_, Init::ones)};
    if (!is_rms_) specs.push_back(make_vector_spec(name_ + ".bias", width_, Init::zeros));
    return specs;
}

void Norm::forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                   State& state, device::Arena& stash, const kernels::ResidualAdd& residual_add) const {
    const kernels::ResidualAdd fused_sum =
        kernels::fuses_residual_sum(pass.stream) ? residual_add : kernels::ResidualAdd{};
    if (residual_add.is_present() && !fused_sum.is_present()) launch(pass.stream, residual_add);
    state.inv_scale = stash.tensor(accumulator_type(pass.dtype), 1, input.rows);
    if (is_rms_) {
        launch(pass.stream, kernels::RmsNorm{.input = input,
                                             .gain = weights[gain],
                                             .output = output,
                                             .inv_rms = state.inv_scale,
                                             .epsilon = epsilon_,
                                             .fused_sum = fused_sum});
        return;
    }
    state.mean = stash.tensor(accumulator_type(pass.dtype), 1, input.rows);
    launch(pass.stream, kernels::LayerNorm{.input = input,
                                           .gain = weights[gain],
                                           .bias = weights[bias],
                                           .output = output,
                                           .mean = state.mean,
                                           .inv_std = state.inv_scale,
                                           .epsilon = epsilon_,
                                           .fused_sum = fused_sum});
}

void Norm::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                          device::ConstTensor grad_output, device::ConstTensor residual,
                          device::Tensor grad_input, const State& state) const {
    if (is_rms_) {
        launch(pass.stream, kernels::RmsNormBackwardInput{.input = input,
                                                          .gain = weights[gain],
                                                          .inv_rms = state.inv_scale,
                                                          .grad_output = grad_output,
                                                          .residual = residual,
                                                          .grad_input = grad_input});
        return;
    }
    launch(pass.stream, kernels::LayerNormBackwardInput{.input = input,
                                                        .gain = weights[gain],
                                                        .mean = state.mean,
                                                        .inv_std = state.inv_scale,
                                                        .grad_output = grad_output,
                                                        .residual = residual,
                                                        .grad_input = grad_input});
}

void Norm::backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                           const State& state, Gradients gradients) const {
    if (!adds_shared_gradients(pass)) return;
    if (is_rms_) {
        launch(pass.stream, kernels::RmsNormBackwardWeight{.input = input,
                                                           .inv_rms = state.inv_scale,
                                                           .grad_output = grad_output,
                                                           .grad_gain = gradients[gain]});
        return;
    }
    launch(pass.stream, kernels::LayerNormBackwardWeight{.input = input,
                                                         .mean = state.mean,
                                                         .inv_std = state.inv_scale,
                                                         .grad_output = grad_output,
                                                         .grad_gain = gradients[gain],
                                                         .grad_bias = gradients[bias]});
}

FinalNorm::FinalNorm(const ModelConfig& config)
    : width_(config.width), norm_(config, std::string(find_traits(config.family).final_norm)) {}

device::Tensor FinalNorm::forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                                  device::Arena& stash) const {
    const device::Tensor output = stash.tensor(pass.dtype, input.rows, width_);
    norm_.forward(pass, weights, input, output, state, stash);
    return output;
}

void FinalNorm::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                               device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                               device::Arena& /*stash*/) const {
    norm_.backward_input(pass, weights, input, grad_output, {}, grad_input, state);
}

void FinalNorm::backward_weight(const Pass& pass, Weights /*weights*/, device::ConstTensor input,
                                device::ConstTensor grad_output, State& state, Gradients gradients,
                                device::Arena& /*scratch*/) const {
    norm_.backward_weight(pass, input, grad_output, state, gradients);
}

}  // namespace trireme::model
