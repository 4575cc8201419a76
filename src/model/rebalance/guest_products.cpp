// Matmuls of a helper rank with the offloaded channels of other ranks.
#include "model/layers/product_work.hpp"
#include "model/rebalance/helping.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::model {
namespace {

constexpr double for_others = 0;

std::size_t outputs_of(const GuestChannels& guest, const ParameterSpec& matrix) {
    return guest.shape.axes == kernels::WeightAxes::in_out ? matrix.columns : matrix.rows;
}

// Calls use(number, first output, outputs) for each matrix. The outputs of the matrices lie side by side.
template <class Use>
void for_each_matrix(const GuestChannels& guest, Use&& use) {
    std::size_t begin = 0;
    for (std::size_t m = 0; m < guest.shape.weights.size(); ++m) {
        const std::size_t outputs = outputs_of(guest, guest.shape.weights[m]);
        use(m, begin, outputs);
        begin += outputs;
    }
}

}  // namespace

std::size_t channels_of(const GuestChannels& guest) { return guest.channels.channels.size(); }

std::vector<device::Tensor> room_for_weights(const GuestChannels& guest, device::DType dtype,
                                             device::Arena& arena) {
    std::vector<device::Tensor> weights;
    for_each_matrix(guest, [&](std::size_t, std::size_t, std::size_t outputs) {
        const bool is_in_out = guest.shape.axes == kernels::WeightAxes::in_out;
        weights.push_back(arena.tensor(dtype, is_in_out ? channels_of(guest) : outputs,
                                       is_in_out ? outputs : channels_of(guest)));
    });
    return weights;
}

device::Tensor output_of(const Pass& pass, const GuestChannels& guest, const GuestState& state,
                         device::ConstTensor input) {
    const device::Tensor output = pass.scratch.tensor(pass.dtype, input.rows, guest.shape.outputs());
    for_each_matrix(guest, [&](std::size_t m, std::size_t begin, std::size_t outputs) {
        multiply(pass.stream,
                 kernels::Linear{.input = input,
                                 .weight = state.weights[m],
                                 .output = output.column_range(begin, outputs),
                                 .axes = guest.shape.axes},
                 for_others);
    });
    return output;
}

// Only the backward matmul can accumulate; it computes X W if the weight is declared transposed.
void add_output(const Pass& pass, const GuestChannels& guest, const GuestState& state, device::Tensor output) {
    const bool is_in_out = guest.shape.axes == kernels::WeightAxes::in_out;
    for_each_matrix(guest, [&](std::size_t m, std::size_t begin, std::size_t outputs) {
        multiply(pass.stream,
                 kernels::LinearBackwardInput{
                     .grad_output = state.input,
                     .weight = state.weights[m],
                     .grad_input = output.column_range(begin, outputs),
                     .axes = is_in_out ? kernels::WeightAxes::out_in : kernels::WeightAxes::in_out,
                     .accumulate = true},
                 for_others);
    });
}

device::Tensor input_gradient_of(const Pass& pass, const GuestChannels& guest, const GuestState& state,
                                 device::ConstTensor grad_output) {
    const device::Tensor gradient = pass.scratch.tensor(pass.dtype, grad_output.rows, channels_of(guest));
    for_each_matrix(guest, [&](std::size_t m, std::size_t begin, std::size_t outputs) {
        multiply(pass.stream,
                 kernels::LinearBackwardInput{.grad_output = grad_output.column_range(begin, outputs),
                                              .weight = state.weights[m],
                                              .grad_input = gradient,
                                              .axes = guest.shape.axes,
                                              .accumulate = begin > 0},
                 for_others);
    });
    return gradient;
}

std::vector<device::Tensor> weight_gradients_of(const Pass& pass, const GuestChannels& guest,
                                                device::ConstTensor input, device::ConstTensor grad_output) {
    std::vector<device::Tensor> gradients = room_for_weights(guest, wide_of(pass.dtype), pass.scratch);
    for_each_matrix(guest, [&](std::size_t m, std::size_t begin, std::size_t outputs) {
        launch(pass.stream, kernels::Fill{.output = gradients[m], .value = 0});
        multiply(pass.stream,
                 kernels::LinearBackwardWeight{.input = input,
                                               .grad_output = grad_output.column_range(begin, outputs),
                                               .grad_weight = gradients[m],
                                               .axes = guest.shape.axes},
                 for_others);
    });
    return gradients;
}

}  // namespace trireme::model
