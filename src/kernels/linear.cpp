#include "trireme/kernels/linear.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

void check_weight(const ShapeCheck& check, std::string_view name, const device::ConstTensor& weight,
                  WeightAxes axes, std::size_t in, std::size_t out) {
    const bool is_in_out = axes == WeightAxes::in_out;
    check.matrix(name, weight, is_in_out ? in : out, is_in_out ? out : in);
}

// Returns the cost of a matmul; `product` is its rows, columns and depth.
device::Cost product_cost(std::string_view kernel, std::array<std::size_t, 3> product, std::size_t bytes) {
    double flops = 2;
    for (const std::size_t extent : product) flops *= static_cast<double>(extent);
    return {.kernel = kernel, .flops = flops, .bytes = static_cast<double>(bytes), .product = product};
}

}  // namespace

bool joins_activation(const device::Stream& stream, device::DType dtype, ActivationKind kind) {
    const auto* const gpu = std::get_if<device::CudaStream>(&stream.backend);
    return gpu != nullptr && joins_activation(*gpu, dtype, kind);
}

void Linear::check() const {
    const ShapeCheck check("linear", input.dtype);
    check.matrix("input", input, output.rows, input.columns);
    check.matrix("output", output, input.rows, output.columns);
    check_weight(check, "weight", weight, axes, input.columns, output.columns);
    if (bias.is_present()) check.vector("bias", bias, output.columns);
    if (activated.is_present()) check.matrix("activated", activated, output.rows, output.columns);
}

device::Cost Linear::cost() const {
    return product_cost("linear", {output.rows, output.columns, input.columns},
                        input.bytes() + weight.bytes() + bias.bytes() + output.bytes() + activated.bytes());
}

NamedTensors Linear::tensors() const {
    return {{"input", input}, {"weight", weight}, {"bias", bias}, {"output", output}, {"activated", activated}};
}

void LinearBackwardInput::check() const {
    const ShapeCheck check("linear_backward_input", grad_output.dtype);
    check.matrix("grad_output", grad_output, grad_input.rows, grad_output.columns);
    check.matrix("grad_input", grad_input, grad_output.rows, grad_input.columns);
    check_weight(check, "weight", weight, axes, grad_input.columns, grad_output.columns);
    if (!activated_from.is_present()) return;
    check.matrix("activated_from", activated_from, grad_input.rows, grad_input.columns);
    check.demand(!accumulate, "a gradient that goes through an activation is not added to another one");
}

device::Cost LinearBackwardInput::cost() const {
    return product_cost("linear_backward_input", {grad_input.rows, grad_input.columns, grad_output.columns},
                        grad_output.bytes() + weight.bytes() + (accumulate ? 2 : 1) * grad_input.bytes() +
                            activated_from.bytes());
}

NamedTensors LinearBackwardInput::tensors() const {
    return {{"grad_output", grad_output},
            {"weight", weight},
            {"grad_input", grad_input},
            {"activated_from", activated_from}};
}

void LinearBackwardWeight::check() const {
    const ShapeCheck check("linear_backward_weight", input.dtype);
    check.matrix("input", input, grad_output.rows, input.columns);
    check.matrix("grad_output", grad_output, input.rows, grad_output.columns);
    const bool is_in_out = axes == WeightAxes::in_out;
    check.wide_matrix("grad_weight", grad_weight, is_in_out ? input.columns : grad_output.columns,
                      is_in_out ? grad_output.columns : input.columns);
    if (grad_bias.is_present()) check.wide_vector("grad_bias", grad_bias, grad_output.columns);
}

device::Cost LinearBackwardWeight::cost() const {
    return product_cost("linear_backward_weight", {grad_weight.rows, grad_weight.columns, input.rows},
                        input.bytes() + grad_output.bytes() + 2 * grad_weight.bytes() + 2 * grad_bias.bytes());
}

NamedTensors LinearBackwardWeight::tensors() const {
    return {
        {"input", input}, {"grad_output", grad_output}, {"grad_weight", grad_weight}, {"grad_bias", grad_bias}};
}

void ColumnSums::check() const {
    const ShapeCheck check("column_sums", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.wide_vector("sums", sums, input.columns);
}

device::Cost ColumnSums::cost() const {
    return {.kernel = "column_sums", .bytes = static_cast<double>(input.bytes() + 2 * sums.bytes())};
}

NamedTensors ColumnSums::tensors() const { return {{"input", input}, {"sums", sums}}; }

void ChannelChange::check() const {
    const ShapeCheck check("channel_change", weight.dtype);
    check.matrix("weight", weight, weight.rows, weight.columns);
    check.matrix("before", before, weight.rows, weight.columns);
    check.vector_of(device::DType::f64, "change", change,
                    axes == WeightAxes::in_out ? weight.rows : weight.columns);
}

device::Cost ChannelChange::cost() const {
    return {.kernel = "channel_change",
            .bytes = static_cast<double>(weight.bytes() + before.bytes() + 2 * change.bytes())};
}

NamedTensors ChannelChange::tensors() const {
    return {{"weight", weight}, {"before", before}, {"change", change}};
}

}  // namespace trireme::kernels
