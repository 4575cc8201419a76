#include "trireme/model/head_transform.hpp"

#include "trireme/model/dropout_site.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

// Returns the name of the matrix in Hugging Face's files, without ".weight" or ".bias".
std::string make_dense_name(Task task) {
    return task == Task::masked ? "cls.predictions.transform.dense" : "bert.pooler.dense";
}

}  // namespace

HeadTransform::HeadTransform(const ModelConfig& config)
    : width_(config.width),
      dense_(config, make_all_channels(config.width),
             {{make_dense_name(config.task), make_all_channels(config.width)}}, config.init_deviation),
      activation_(config.task == Task::masked ? config.activation : kernels::ActivationKind::tanh),
      dropout_(config.task == Task::masked ? 0 : config.dropout) {
    if (config.task == Task::masked) norm_.emplace(config, "cls.predictions.transform.LayerNorm");
}

std::vector<ParameterSpec> HeadTransform::parameters() const {
    std::vector<ParameterSpec> specs = dense_.parameters();
    if (norm_) {
        for (ParameterSpec& spec : norm_->parameters()) specs.push_back(std::move(spec));
    }
    for (ParameterSpec& spec : specs) spec.belongs_to_head = true;
    return specs;
}

device::Tensor HeadTransform::forward(const Pass& pass, Weights weights, device::ConstTensor input,
                                      State& state, device::Arena& stash) const {
    state.inner = stash.tensor(pass.dtype, input.rows, width_);
    state.result = stash.tensor(pass.dtype, input.rows, width_);
    dense_.forward(pass, weights.first(dense_.count_parameters()), input, state.inner, state.helper_states,
                   stash);
    launch(pass.stream, kernels::Activation{.input = state.inner, .output = state.result, .kind = activation_});
    if (norm_) {
        const device::Tensor output = stash.tensor(pass.dtype, input.rows, width_);
        norm_->forward(pass, weights.subspan(dense_.count_parameters()), state.result, output, state.norm,
                       stash);
        return output;
    }
    const kernels::Dropout dropout = make_dropout_for_own_rows(pass, dropout_, 0, DropoutSite::head);
    if (dropout.is_on()) {
        launch(pass.stream,
               kernels::ResidualAdd{
                   .residual = {}, .input = state.result, .output = state.result, .dropout = dropout});
    }
    return state.result;
}

void HeadTransform::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                                   device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                                   device::Arena& stash) const {
    state.grad_inner = stash.tensor(pass.dtype, input.rows, width_);
    device::ConstTensor grad_result = state.grad_inner;  // with a norm, the two gradients share memory
    if (norm_) {
        norm_->backward_input(pass, weights.subspan(dense_.count_parameters()), state.result, grad_output, {},
                              state.grad_inner, state.norm);
    } else {
        grad_result = apply_dropout_backward(
            pass, grad_output, make_dropout_for_own_rows(pass, dropout_, 0, DropoutSite::head), stash);
    }
    launch(pass.stream, kernels::ActivationBackward{.input = state.inner,
                                                    .grad_output = grad_result,
                                                    .grad_input = state.grad_inner,
                                                    .kind = activation_});
    dense_.backward_input(pass, weights.first(dense_.count_parameters()), state.grad_inner, grad_input,
                          state.helper_states, stash);
}

void HeadTransform::backward_weight(const Pass& pass, Weights /*weights*/, device::ConstTensor input,
                                    device::ConstTensor grad_output, State& state, Gradients gradients,
                                    device::Arena& /*scratch*/) const {
    if (!adds_shared_gradients(pass)) return;
    dense_.backward_weight(pass, input, state.grad_inner, state.helper_states,
                           gradients.first(dense_.count_parameters()));
    if (norm_) {
        norm_->backward_weight(pass, state.result, grad_output, state.norm,
                               gradients.subspan(dense_.count_parameters()));
    }
}

}  // namespace trireme::model
