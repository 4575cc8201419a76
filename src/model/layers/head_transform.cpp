#include "trireme/model/head_transform.hpp"

#include "trireme/model/dropout_site.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

std::string dense_name(Task task) {
    return task == Task::masked ? "cls.predictions.transform.dense" : "bert.pooler.dense";
}

}  // namespace

HeadTransform::HeadTransform(const ModelConfig& config)
    : width_(config.width),
      dense_(config, all_channels(config.width), {{dense_name(config.task), all_channels(config.width)}},
             config.init_deviation),
      activation_(config.task == Task::masked ? config.activation : kernels::ActivationKind::tanh),
      dropout_(config.task == Task::masked ? 0 : config.dropout) {
    if (config.task == Task::masked) norm_.emplace(config, "cls.predictions.transform.LayerNorm");
}

std::vector<ParameterSpec> HeadTransform::parameters() const {
    std::vector<ParameterSpec> specs = dense_.parameters();
    if (norm_) {
        for (ParameterSpec& spec : norm_->parameters()) specs.push_back(std::move(spec));
    }
    for (ParameterSpec& spec : specs) spec.is_of_head = true;
    return specs;
}

device::Tensor HeadTransform::forward(const Pass& pass, Weights weights, device::ConstTensor input,
                                      State& state, device::Arena& kept) const {
    state.inner = kept.tensor(pass.dtype, input.rows, width_);
    state.result = kept.tensor(pass.dtype, input.rows, width_);
    dense_.forward(pass, weights.first(dense_.parameter_count()), input, state.inner, state.guests, kept);
    launch(pass.stream, kernels::Activation{.input = state.inner, .output = state.result, .kind = activation_});
    if (norm_) {
        const device::Tensor output = kept.tensor(pass.dtype, input.rows, width_);
        norm_->forward(pass, weights.subspan(dense_.parameter_count()), state.result, output, state.norm, kept);
        return output;
    }
    const kernels::Dropout dropout = dropout_at(pass, dropout_, 0, Site::head);
    if (dropout.is_on()) {
        launch(pass.stream,
               kernels::ResidualAdd{
                   .residual = {}, .input = state.result, .output = state.result, .dropout = dropout});
    }
    return state.result;
}

void HeadTransform::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                                   device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                                   device::Arena& kept) const {
    state.grad_inner = kept.tensor(pass.dtype, input.rows, width_);
    device::ConstTensor grad_result = state.grad_inner;
    if (norm_) {
        norm_->backward_input(pass, weights.subspan(dense_.parameter_count()), state.result, grad_output, {},
                              state.grad_inner, state.norm);
    } else {
        grad_result = drop_out_backward(pass, grad_output, dropout_at(pass, dropout_, 0, Site::head), kept);
    }
    launch(pass.stream, kernels::ActivationBackward{.input = state.inner,
                                                    .grad_output = grad_result,
                                                    .grad_input = state.grad_inner,
                                                    .kind = activation_});
    dense_.backward_input(pass, weights.first(dense_.parameter_count()), state.grad_inner, grad_input,
                          state.guests, kept);
}

void HeadTransform::backward_weight(const Pass& pass, Weights /*weights*/, device::ConstTensor input,
                                    device::ConstTensor grad_output, State& state, Gradients gradients,
                                    device::Arena& /*scratch*/) const {
    if (!counts_what_all_hold(pass)) return;
    dense_.backward_weight(pass, input, state.grad_inner, state.guests,
                           gradients.first(dense_.parameter_count()));
    if (norm_) {
        norm_->backward_weight(pass, state.result, grad_output, state.norm,
                               gradients.subspan(dense_.parameter_count()));
    }
}

}  // namespace trireme::model
