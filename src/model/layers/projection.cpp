#include "trireme/model/projection.hpp"

#include "model/layers/matmul_work.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {

Projection::Projection(const ModelConfig& config, Channels input, std::vector<MatrixSpec> matrices,
                       double deviation, bool has_bias)
    : input_(std::move(input)),
      matrices_(std::move(matrices)),
      deviation_(deviation),
      axes_(find_traits(config.family).axes),
      has_bias_(has_bias && find_traits(config.family).has_bias) {}

std::size_t Projection::output_width() const {
    std::size_t sum = 0;
    for (const MatrixSpec& spec : matrices_) sum += spec.output.count();
    return sum;
}

std::vector<ParameterSpec> Projection::parameters() const {
    std::vector<ParameterSpec> specs;
    for (const MatrixSpec& spec : matrices_) {
        const bool is_in_out = axes_ == kernels::WeightAxes::in_out;
        const Channels& rows = is_in_out ? input_ : spec.output;
        const Channels& columns = is_in_out ? spec.output : input_;
        specs.push_back(cut_parameter(
            make_matrix_spec(spec.name + ".weight", rows.width, columns.width, deviation_), rows, columns));
        if (!has_bias_) continue;
        specs.push_back(cut_parameter(make_vector_spec(spec.name + ".bias", spec.output.width, Init::zeros),
                                      make_all_channels(1), spec.output));
    }
    return specs;
}

ProjectionShape Projection::make_shape(const ProjectionId& id) const {
    ProjectionShape shape{.id = id, .channels = input_.count(), .axes = axes_};
    const std::vector<ParameterSpec> specs = parameters();
    for (std::size_t i = 0; i < specs.size(); i += has_bias_ ? 2 : 1) shape.weights.push_back(specs[i]);
    return shape;
}

bool Projection::can_fuse(const Pass& pass, kernels::ActivationKind activation) const {
    return fuses_activation(pass.stream, pass.dtype, activation);
}

kernels::Linear Projection::make_forward_matmul(const Matrix& matrix, Weights weights,
                                                device::ConstTensor input, device::Tensor output) const {
    return {.input = input,
            .weight = weights[matrix.weight_index],
            .bias = has_bias_ ? weights[matrix.weight_index + 1] : device::ConstTensor{},
            .output = output.column_range(matrix.first_column, matrix.columns),
            .axes = axes_};
}

kernels::LinearBackwardInput Projection::make_backward_input_matmul(const Matrix& matrix, Weights weights,
                                                                    device::ConstTensor grad_output,
                                                                    device::Tensor grad_input) const {
    return {.grad_output = grad_output.column_range(matrix.first_column, matrix.columns),
            .weight = weights[matrix.weight_index],
            .grad_input = grad_input,
            .axes = axes_,
            .accumulate = matrix.first_column > 0};  // the first matrix overwrites, the others add
}

kernels::LinearBackwardWeight Projection::make_backward_weight_matmul(const Matrix& matrix,
                                                                      device::ConstTensor input,
                                                                      device::ConstTensor grad_output,
                                                                      Gradients gradients) const {
    return {.input = input,
            .grad_output = grad_output.column_range(matrix.first_column, matrix.columns),
            .grad_weight = gradients[matrix.weight_index],
            .grad_bias = has_bias_ ? gradients[matrix.weight_index + 1] : device::Tensor{},
            .axes = axes_};
}

void Projection::forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                         HelperStates& /*helper_states*/, device::Arena& /*stash*/,
                         const FusedActivation& activation) const {
    for_each_matrix([&](const Matrix& matrix) {
        kernels::Linear matmul = make_forward_matmul(matrix, weights, input, output);
        matmul.activated_output = activation.tensor;
        matmul.activation = activation.kind;
        launch_matmul(pass.stream, matmul, /*full_flops_ratio=*/1);
    });
}

void Projection::backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                device::Tensor grad_input, HelperStates& /*helper_states*/,
                                device::Arena& /*stash*/, const FusedActivation& activation) const {
    for_each_matrix([&](const Matrix& matrix) {
        kernels::LinearBackwardInput matmul =
            make_backward_input_matmul(matrix, weights, grad_output, grad_input);
        matmul.activation_input = activation.tensor;
        matmul.activation = activation.kind;
        launch_matmul(pass.stream, matmul, /*full_flops_ratio=*/1);
    });
}

void Projection::backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                                 const HelperStates& /*helper_states*/, Gradients gradients) const {
    for_each_matrix([&](const Matrix& matrix) {
        launch_matmul(pass.stream, make_backward_weight_matmul(matrix, input, grad_output, gradients),
                      /*full_flops_ratio=*/1);
    });
}

}  // namespace trireme::model
