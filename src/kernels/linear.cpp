#include "trireme/kernels/linear.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

void check_weight(const ShapeCheck& check, std::string_view name, const device::ConstTensor& weight,
                  WeightAxes axes, std::size_t in, std::size_t out) {
    const bool is_in_out = axes == WeightAxes::in_out;
    check.require_matrix(name, weight, is_in_out ? in : out, is_in_out ? out : in);
}

// Returns the cost of a matmul; `matmul` is {rows, columns, depth}, or {M, N, K} in BLAS.
device::Cost compute_matmul_cost(std::string_view kernel, std::array<std::size_t, 3> matmul,
                                 std::size_t bytes) {
    double flops = 2;
    for (const std::size_t extent : matmul) flops *= static_cast<double>(extent);
    return {.kernel = kernel, .flops = flops, .bytes = static_cast<double>(bytes), .matmul = matmul};
}

}  // namespace

bool fuses_activation(const device::Stream& stream, device::DType dtype, ActivationKind kind) {
    const auto* const gpu = std::get_if<device::CudaStream>(&stream.backend);
    return gpu != nullptr && fuses_activation(*gpu, dtype, kind);
}

void Linear::check() const {
    const ShapeCheck check("linear", input.dtype);
    check.require_matrix("input", input, output.rows, input.columns);
    check.require_matrix("output", output, input.rows, output.columns);
    check_weight(check, "weight", weight, axes, input.columns, output.columns);
    if (bias.is_present()) check.require_vector("bias", bias, output.columns);
    if (activated_output.is_present())
        check.require_matrix("activated", activated_output, output.rows, output.columns);
}

device::Cost Linear::cost() const {
    return compute_matmul_cost(
        "linear", {output.rows, output.columns, input.columns},
        input.bytes() + weight.bytes() + bias.bytes() + output.bytes() + activated_output.bytes());
}

NamedTensors Linear::tensors() const {
    return {{"input", input},
            {"weight", weight},
            {"bias", bias},
            {"output", output},
            {"activated", activated_output}};
}

void LinearBackwardInput::check() const {
    const ShapeCheck check("linear_backward_input", grad_output.dtype);
    check.require_matrix("grad_output", grad_output, grad_input.rows, grad_output.columns);
    check.require_matrix("grad_input", grad_input, grad_output.rows, grad_input.columns);
    check_weight(check, "weight", weight, axes, grad_input.columns, grad_output.columns);
    if (!activation_input.is_present()) return;
    check.require_matrix("activated_from", activation_input, grad_input.rows, grad_input.columns);
    check.demand(!accumulate,
                 "grad_input cannot be accumulated if the backward pass of an activation is fused");
}

device::Cost LinearBackwardInput::cost() const {
    return compute_matmul_cost("linear_backward_input",
                               {grad_input.rows, grad_input.columns, grad_output.columns},
                               grad_output.bytes() + weight.bytes() +
                                   (accumulate ? 2 : 1) * grad_input.bytes() + activation_input.bytes());
}

NamedTensors LinearBackwardInput::tensors() const {
    return {{"grad_output", grad_output},
            {"weight", weight},
            {"grad_input", grad_input},
            {"activated_from", activation_input}};
}

void LinearBackwardWeight::check() const {
    const ShapeCheck check("linear_backward_weight", input.dtype);
    check.require_matrix("input", input, grad_output.rows, input.columns);
    check.require_matrix("grad_output", grad_output, input.rows, grad_output.columns);
    const bool is_in_out = axes == WeightAxes::in_out;
    check.require_wide_matrix("grad_weight", grad_weight, is_in_out ? input.columns : grad_output.columns,
                              is_in_out ? grad_output.columns : input.columns);
    if (grad_bias.is_present()) check.require_wide_vector("grad_bias", grad_bias, grad_output.columns);
}

device::Cost LinearBackwardWeight::cost() const {
    return compute_matmul_cost(
        "linear_backward_weight", {grad_weight.rows, grad_weight.columns, input.rows},
        input.bytes() + grad_output.bytes() + 2 * grad_weight.bytes() + 2 * grad_bias.bytes());
}

NamedTensors LinearBackwardWeight::tensors() const {
    return {
        {"input", input}, {"grad_output", grad_output}, {"grad_weight", grad_weight}, {"grad_bias", grad_bias}};
}

void ColumnSums::check() const {
    const ShapeCheck check("column_sums", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_wide_vector("sums", sums, input.columns);
}

device::Cost ColumnSums::cost() const {
    return {.kernel = "column_sums", .bytes = static_cast<double>(input.bytes() + 2 * sums.bytes())};
}

NamedTensors ColumnSums::tensors() const { return {{"input", input}, {"sums", sums}}; }

void ChannelChange::check() const {
    const ShapeCheck check("channel_change", weight.dtype);
    check.require_matrix("weight", weight, weight.rows, weight.columns);
    check.require_matrix("before", old_weight, weight.rows, weight.columns);
    check.require_vector(device::DType::f64, "change", change,
                         axes == WeightAxes::in_out ? weight.rows : weight.columns);
}

device::Cost ChannelChange::cost() const {
    return {.kernel = "channel_change",
            .bytes = static_cast<double>(weight.bytes() + old_weight.bytes() + 2 * change.bytes())};
}

NamedTensors ChannelChange::tensors() const {
    return {{"weight", weight}, {"before", old_weight}, {"change", change}};
}

}  // namespace trireme::kernels
