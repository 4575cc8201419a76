#include "trireme/kernels/activation.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {

void Activation::check() const {
    const ShapeCheck check("activation", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_matrix("output", output, input.rows, input.columns);
}

device::Cost Activation::cost() const {
    return {.kernel = "activation", .bytes = static_cast<double>(input.bytes() + output.bytes())};
}

NamedTensors Activation::tensors() const { return {{"input", input}, {"output", output}}; }

void ActivationBackward::check() const {
    const ShapeCheck check("activation_backward", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_matrix("grad_output", grad_output, input.rows, input.columns);
    check.require_matrix("grad_input", grad_input, input.rows, input.columns);
}

device::Cost ActivationBackward::cost() const {
    const std::size_t bytes = input.bytes() + grad_output.bytes() + grad_input.bytes();
    return {.kernel = "activation_backward", .bytes = static_cast<double>(bytes)};
}

NamedTensors ActivationBackward::tensors() const {
    return {{"input", input}, {"grad_output", grad_output}, {"grad_input", grad_input}};
}

void SiluGate::check() const {
    const ShapeCheck check("silu_gate", gate.dtype);
    check.require_matrix("gate", gate, gate.rows, gate.columns);
    check.require_matrix("up", up, gate.rows, gate.columns);
    check.require_matrix("output", output, gate.rows, gate.columns);
}

device::Cost SiluGate::cost() const {
    return {.kernel = "silu_gate", .bytes = static_cast<double>(gate.bytes() + up.bytes() + output.bytes())};
}

NamedTensors SiluGate::tensors() const { return {{"gate", gate}, {"up", up}, {"output", output}}; }

void SiluGateBackward::check() const {
    const ShapeCheck check("silu_gate_backward", gate.dtype);
    check.require_matrix("gate", gate, gate.rows, gate.columns);
    check.require_matrix("up", up, gate.rows, gate.columns);
    check.require_matrix("grad_output", grad_output, gate.rows, gate.columns);
    check.require_matrix("grad_gate", grad_gate, gate.rows, gate.columns);
    check.require_matrix("grad_up", grad_up, gate.rows, gate.columns);
}

device::Cost SiluGateBackward::cost() const {
    const std::size_t read = gate.bytes() + up.bytes() + grad_output.bytes();
    const std::size_t written = grad_gate.bytes() + grad_up.bytes();
    return {.kernel = "silu_gate_backward", .bytes = static_cast<double>(read + written)};
}

NamedTensors SiluGateBackward::tensors() const {
    return {{"gate", gate},
            {"up", up},
            {"grad_output", grad_output},
            {"grad_gate", grad_gate},
            {"grad_up", grad_up}};
}

}  // namespace trireme::kernels
