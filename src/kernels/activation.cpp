#include "trireme/kernels/activation.hpp"

#include "kernels/shape_check.hpp"

namespace trireme {

void Activation::check() const {
    const ShapeCheck check("activation", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.matrix("output", output, input.rows, input.columns);
}

Cost Activation::cost() const {
    return {.kernel = "activation", .bytes = static_cast<double>(input.bytes() + output.bytes())};
}

void ActivationBackward::check() const {
    const ShapeCheck check("activation_backward", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.matrix("grad_output", grad_output, input.rows, input.columns);
    check.matrix("grad_input", grad_input, input.rows, input.columns);
}

Cost ActivationBackward::cost() const {
    const std::size_t bytes = input.bytes() + grad_output.bytes() + grad_input.bytes();
    return {.kernel = "activation_backward", .bytes = static_cast<double>(bytes)};
}

}  // namespace trireme
