#include "trireme/model/projection.hpp"

#include "model/layers/product_work.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {
Projection::Projection(const ModelConfig& config, Channels input, std::vector<Part> parts, double deviation,
                       bool has_bias)
    : input_(std::move(input)),
      parts_(std::move(parts)),
      deviation_(deviation),
      axes_(traits_of(config.family).axes),
      has_bias_(has_bias && traits_of(config.family).has_bias) {}

std::size_t Projection::output_width() const {
    std::size_t sum = 0;
    for (const Part& part : parts_) sum += part.output.count();
    return sum;
}

std::vector<ParameterSpec> Projection::parameters() const {
    std::vector<ParameterSpec> specs;
    for (const Part& part : parts_) {
        const bool is_in_out = axes_ == kernels::WeightAxes::in_out;
        const Channels& rows = is_in_out ? input_ : part.output;
        const Channels& columns = is_in_out ? part.output : input_;
        specs.push_back(
            part_of(matrix_spec(part.name + ".weight", rows.width, columns.width, deviation_), rows, columns));
        if (!has_bias_) continue;
        specs.push_back(part_of(vector_spec(part.name + ".bias", part.output.width, Init::zeros),
                                all_channels(1), part.output));
    }
    return specs;
}

ProjectionShape Projection::shape(const ProjectionPlace& place) const {
    ProjectionShape shape{.place = place, .channels = input_.count(), .axes = axes_};
    const std::vector<ParameterSpec> specs = parameters();
    for (std::size_t i = 0; i < specs.size(); i += has_bias_ ? 2 : 1) shape.weights.push_back(specs[i]);
    return shape;
}

bool Projection::joins(const Pass& pass, kernels::ActivationKind activation) const {
    return joins_activation(pass.stream, pass.dtype, activation);
}

kernels::Linear Projection::forward_matmul(const Matrix& matrix, Weights weights, device::ConstTensor input,
                                           device::Tensor output) const {
    return {.input = input,
            .weight = weights[matrix.parameter],
            .bias = has_bias_ ? weights[matrix.parameter + 1] : device::ConstTensor{},
            .output = output.column_range(matrix.first, matrix.count),
            .axes = axes_};
}

kernels::LinearBackwardInput Projection::input_matmul(const Matrix& matrix, Weights weights,
                                                      device::ConstTensor grad_output,
                                                      device::Tensor grad_input) const {
    return {.grad_output = grad_output.column_range(matrix.first, matrix.count),
            .weight = weights[matrix.parameter],
            .grad_input = grad_input,
            .axes = axes_,
            .accumulate = matrix.first > 0};
}

kernels::LinearBackwardWeight Projection::weight_matmul(const Matrix& matrix, device::ConstTensor input,
                                                        device::ConstTensor grad_output,
                                                        Gradients gradients) const {
    return {.input = input,
            .grad_output = grad_output.column_range(matrix.first, matrix.count),
            .grad_weight = gradients[matrix.parameter],
            .grad_bias = has_bias_ ? gradients[matrix.parameter + 1] : device::Tensor{},
            .axes = axes_};
}

void Projection::forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                         GuestStates& /*states*/, device::Arena& /*kept*/,
                         const JoinedActivation& activation) const {
    for_each_matrix([&](const Matrix& matrix) {
        kernels::Linear matmul = forward_matmul(matrix, weights, input, output);
        matmul.activated = activation.tensor;
        matmul.activation = activation.kind;
        multiply(pass.stream, matmul, 1);
    });
}

void Projection::backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                device::Tensor grad_input, GuestStates& /*states*/, device::Arena& /*kept*/,
                                const JoinedActivation& activation) const {
    for_each_matrix([&](const Matrix& matrix) {
        kernels::LinearBackwardInput matmul = input_matmul(matrix, weights, grad_output, grad_input);
        matmul.activated_from = activation.tensor;
        matmul.activation = activation.kind;
        multiply(pass.stream, matmul, 1);
    });
}

void Projection::backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                                 const GuestStates& /*states*/, Gradients gradients) const {
    for_each_matrix([&](const Matrix& matrix) {
        multiply(pass.stream, weight_matmul(matrix, input, grad_output, gradients), 1);
    });
}

}  // namespace trireme::model
