// Matmuls of a helper rank with the channels that other ranks (owners) have offloaded to it.
#include "model/layers/matmul_work.hpp"
#include "model/rebalance/offload_messages.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::model {
namespace {

// See launch_matmul(). Without offloading, this rank would not compute these matmuls.
constexpr double full_flops_ratio = 0;

// Returns the number of output channels of a matrix of the projection.
std::size_t count_outputs(const HelperTask& task, const ParameterSpec& matrix) {
    return task.shape.axes == kernels::WeightAxes::in_out ? matrix.columns : matrix.rows;
}

// Calls use(index of the matrix, its first output column, its number of output columns) for each matrix of the
// projection.
template <class Use>
void for_each_matrix(const HelperTask& task, Use&& use) {
    std::size_t first_column = 0;
    for (std::size_t matrix_index = 0; matrix_index < task.shape.weights.size(); ++matrix_index) {
        const std::size_t outputs = count_outputs(task, task.shape.weights[matrix_index]);
        use(matrix_index, first_column, outputs);
        first_column += outputs;
    }
}

}  // namespace

std::size_t count_channels(const HelperTask& task) { return task.channels.channels.size(); }

std::vector<device::Tensor> allocate_weights(const HelperTask& task, device::DType dtype,
                                             device::Arena& arena) {
    std::vector<device::Tensor> weights;
    for_each_matrix(task, [&](std::size_t, std::size_t, std::size_t outputs) {
        const bool is_in_out = task.shape.axes == kernels::WeightAxes::in_out;
        weights.push_back(arena.tensor(dtype, is_in_out ? count_channels(task) : outputs,
                                       is_in_out ? outputs : count_channels(task)));
    });
    return weights;
}

device::Tensor compute_output(const Pass& pass, const HelperTask& task, const HelperState& state,
                              device::ConstTensor input) {
    const device::Tensor output = pass.scratch.tensor(pass.dtype, input.rows, task.shape.outputs());
    for_each_matrix(task, [&](std::size_t matrix_index, std::size_t first_column, std::size_t outputs) {
        launch_matmul(pass.stream,
                      kernels::Linear{.input = input,
                                      .weight = state.weights[matrix_index],
                                      .output = output.column_range(first_column, outputs),
                                      .axes = task.shape.axes},
                      full_flops_ratio);
    });
    return output;
}

// Launches kernels::LinearBackwardInput, because kernels::Linear cannot add to its output. LinearBackwardInput
// computes dY W^T; with the input X in place of dY, and the other axis order of W, it computes X W.
void add_output(const Pass& pass, const HelperTask& task, const HelperState& state, device::Tensor output) {
    const bool is_in_out = task.shape.axes == kernels::WeightAxes::in_out;
    for_each_matrix(task, [&](std::size_t matrix_index, std::size_t first_column, std::size_t outputs) {
        launch_matmul(pass.stream,
                      kernels::LinearBackwardInput{
                          .grad_output = state.input,
                          .weight = state.weights[matrix_index],
                          .grad_input = output.column_range(first_column, outputs),
                          .axes = is_in_out ? kernels::WeightAxes::out_in : kernels::WeightAxes::in_out,
                          .accumulate = true},
                      full_flops_ratio);
    });
}

device::Tensor compute_input_gradient(const Pass& pass, const HelperTask& task, const HelperState& state,
                                      device::ConstTensor grad_output) {
    const device::Tensor gradient = pass.scratch.tensor(pass.dtype, grad_output.rows, count_channels(task));
    for_each_matrix(task, [&](std::size_t matrix_index, std::size_t first_column, std::size_t outputs) {
        launch_matmul(
            pass.stream,
            kernels::LinearBackwardInput{.grad_output = grad_output.column_range(first_column, outputs),
                                         .weight = state.weights[matrix_index],
                                         .grad_input = gradient,
                                         .axes = task.shape.axes,
                                         .accumulate = first_column > 0},  // the first matrix overwrites
            full_flops_ratio);
    });
    return gradient;
}

std::vector<device::Tensor> compute_weight_gradients(const Pass& pass, const HelperTask& task,
                                                     device::ConstTensor input,
                                                     device::ConstTensor grad_output) {
    std::vector<device::Tensor> gradients = allocate_weights(task, accumulator_type(pass.dtype), pass.scratch);
    for_each_matrix(task, [&](std::size_t matrix_index, std::size_t first_column, std::size_t outputs) {
        launch(pass.stream, kernels::Fill{.output = gradients[matrix_index], .value = 0});
        launch_matmul(
            pass.stream,
            kernels::LinearBackwardWeight{.input = input,
                                          .grad_output = grad_output.column_range(first_column, outputs),
                                          .grad_weight = gradients[matrix_index],
                                          .axes = task.shape.axes},
            full_flops_ratio);
    });
    return gradients;
}

}  // namespace trireme::model
