#include "trireme/kernels/dropout.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

void check_dropout(const ShapeCheck& check, const Dropout& dropout, std::size_t rows) {
    check.demand(dropout.rate >= 0 && dropout.rate < 1, "a dropout rate of ", dropout.rate,
                 " is not in [0, 1)");
    if (!dropout.is_on()) return;
    check.require_vector(device::DType::i64, "samples", dropout.samples, rows);
    check.require_vector(device::DType::i32, "positions", dropout.positions, rows);
}

std::size_t count_dropout_bytes(const Dropout& dropout) {
    return dropout.is_on() ? dropout.samples.bytes() + dropout.positions.bytes() : 0;
}

}  // namespace

void ResidualAdd::check() const {
    const ShapeCheck check("residual_add", input.dtype);
    if (residual.is_present()) check.require_matrix("residual", residual, input.rows, input.columns);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_matrix("output", output, input.rows, input.columns);
    check_dropout(check, dropout, input.rows);
}

device::Cost ResidualAdd::cost() const {
    const std::size_t bytes = residual.bytes() + input.bytes() + output.bytes() + count_dropout_bytes(dropout);
    return {.kernel = residual.is_present() ? "residual_add" : "dropout", .bytes = static_cast<double>(bytes)};
}

NamedTensors ResidualAdd::tensors() const {
    return {{"residual", residual}, {"input", input}, {"output", output}};
}

void DropoutBackward::check() const {
    const ShapeCheck check("dropout_backward", grad_output.dtype);
    check.require_matrix("grad_output", grad_output, grad_output.rows, grad_output.columns);
    check.require_matrix("grad_input", grad_input, grad_output.rows, grad_output.columns);
    check_dropout(check, dropout, grad_output.rows);
}

device::Cost DropoutBackward::cost() const {
    const std::size_t bytes = grad_output.bytes() + grad_input.bytes() + count_dropout_bytes(dropout);
    return {.kernel = "dropout_backward", .bytes = static_cast<double>(bytes)};
}

NamedTensors DropoutBackward::tensors() const {
    return {{"grad_output", grad_output}, {"grad_input", grad_input}};
}

}  // namespace trireme::kernels
