#include "trireme/model/span_head.hpp"

#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/read.hpp"
#include "trireme/kernels/span_loss.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

// Indices into parameters().
enum : std::size_t { span_weight, span_bias };

constexpr std::size_t logits_per_row = 2;  // scores of the row as first and as last row of an answer

}  // namespace

SpanHead::SpanHead(const ModelConfig& config, const TensorPart& part)
    : width_(config.width), deviation_(config.init_deviation), is_first_(part.is_first()) {}

std::vector<ParameterSpec> SpanHead::parameters() const {
    std::vector<ParameterSpec> specs{make_matrix_spec("qa_outputs.weight", logits_per_row, width_, deviation_),
                                     make_vector_spec("qa_outputs.bias", logits_per_row, Init::zeros)};
    for (ParameterSpec& spec : specs) spec.belongs_to_head = true;
    return specs;
}

device::Tensor SpanHead::compute_logits_and_loss(const Pass& pass, Weights weights, device::ConstTensor input,
                                                 double gradient_scale, State& state,
                                                 device::Arena& arena) const {
    const device::Tensor logits = arena.tensor(pass.dtype, input.rows, logits_per_row);
    const device::Tensor losses = arena.tensor(device::DType::f64, 1, pass.batch.segments.size());
    launch(pass.stream, kernels::Linear{.input = input,
                                        .weight = weights[span_weight],
                                        .bias = weights[span_bias],
                                        .output = logits,
                                        .axes = kernels::WeightAxes::out_in});
    launch(pass.stream, kernels::SpanLoss{.logits = logits,
                                          .segments = pass.batch.segments,
                                          .answers = pass.batch.answers,
                                          .losses = losses,
                                          .gradient_scale = gradient_scale});
    state.loss = kernels::read_sum(pass.stream, losses);
    return logits;
}

device::Tensor SpanHead::forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                                 device::Arena& stash) const {
    if (pass.is_training) return {};  // backward_input() computes the loss
    const device::ArenaScope scope(stash);
    const device::ConstTensor all_rows = gather_all_rows(pass, input, stash);
    const device::Tensor logits =
        compute_logits_and_loss(pass, weights, all_rows, /*gradient_scale=*/0, state, stash);
    const device::Tensor choices = stash.tensor(device::DType::i32, pass.batch.segments.size(), 2);
    launch(pass.stream, kernels::BestSpan{.logits = logits,
                                          .segments = pass.batch.segments,
                                          .contexts = pass.batch.contexts,
                                          .choices = choices});
    state.choices = kernels::read_integers(pass.stream, choices);
    return {};
}

void SpanHead::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                              device::ConstTensor /*grad_output*/, device::Tensor grad_input, State& state,
                              device::Arena& stash) const {
    state.input = gather_all_rows(pass, input, stash);
    state.grad_logits = compute_logits_and_loss(pass, weights, state.input, pass.loss_scale, state, stash);
    launch(pass.stream, kernels::LinearBackwardInput{.grad_output = view_own_rows(pass, state.grad_logits),
                                                     .weight = weights[span_weight],
                                                     .grad_input = grad_input,
                                                     .axes = kernels::WeightAxes::out_in});
}

void SpanHead::backward_weight(const Pass& pass, Weights /*weights*/, device::ConstTensor /*input*/,
                               device::ConstTensor /*grad_output*/, State& state, Gradients gradients,
                               device::Arena& /*scratch*/) const {
    // All tensor ranks would compute equal gradients. The gradients are later summed over the ranks, so only
    // the first rank adds them.
    if (!is_first_) return;
    launch(pass.stream, kernels::LinearBackwardWeight{.input = state.input,
                                                      .grad_output = state.grad_logits,
                                                      .grad_weight = gradients[span_weight],
                                                      .grad_bias = gradients[span_bias],
                                                      .axes = kernels::WeightAxes::out_in});
}

}  // namespace trireme::model
