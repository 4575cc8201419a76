#include "trireme/kernels/norm.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

void check_fused_sum(const ShapeCheck& check, const ResidualAdd& fused_sum, const device::ConstTensor& input) {
    if (!fused_sum.is_present()) return;
    fused_sum.check();
    const bool is_input = fused_sum.output.data == input.data && fused_sum.output.rows == input.rows &&
                          fused_sum.output.columns == input.columns && fused_sum.output.stride == input.stride;
    check.demand(is_input, "the output of the fused sum is not the input of the norm");
}

// Returns the bytes that a norm reads and writes. If the norm computes its input as a fused sum, the bytes of
// the sum replace the bytes of the input.
double count_forward_bytes(const ResidualAdd& fused_sum, const device::ConstTensor& input,
                           std::size_t other_bytes) {
    const double input_bytes =
        fused_sum.is_present() ? fused_sum.cost().bytes : static_cast<double>(input.bytes());
    return input_bytes + static_cast<double>(other_bytes);
}

// Returns the input of the norm, or the terms and the result of the fused sum that computes the input.
NamedTensors list_input_tensors(const device::ConstTensor& input, const ResidualAdd& fused_sum) {
    if (!fused_sum.is_present()) return {{"input", input}};
    return {{"residual", fused_sum.residual}, {"input", fused_sum.input}, {"sum", fused_sum.output}};
}

}  // namespace

bool fuses_residual_sum(const device::Stream& stream) { return stream.is_on_gpu(); }

void LayerNorm::check() const {
    const ShapeCheck check("layer_norm", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_vector("gain", gain, input.columns);
    check.require_vector("bias", bias, input.columns);
    check.require_matrix("output", output, input.rows, input.columns);
    check.require_wide_vector("mean", mean, input.rows);
    check.require_wide_vector("inv_std", inv_std, input.rows);
    check_fused_sum(check, fused_sum, input);
}

device::Cost LayerNorm::cost() const {
    const std::size_t read = gain.bytes() + bias.bytes();
    const std::size_t written = output.bytes() + mean.bytes() + inv_std.bytes();
    return {.kernel = fused_sum.is_present() ? "residual_add_and_layer_norm" : "layer_norm",
            .bytes = count_forward_bytes(fused_sum, input, read + written)};
}

NamedTensors LayerNorm::tensors() const {
    NamedTensors named_tensors = list_input_tensors(input, fused_sum);
    named_tensors.insert(
        named_tensors.end(),
        {{"gain", gain}, {"bias", bias}, {"output", output}, {"mean", mean}, {"inv_std", inv_std}});
    return named_tensors;
}

void LayerNormBackwardInput::check() const {
    const ShapeCheck check("layer_norm_backward_input", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_vector("gain", gain, input.columns);
    check.require_wide_vector("mean", mean, input.rows);
    check.require_wide_vector("inv_std", inv_std, input.rows);
    check.require_matrix("grad_output", grad_output, input.rows, input.columns);
    if (residual.is_present()) check.require_matrix("residual", residual, input.rows, input.columns);
    check.require_matrix("grad_input", grad_input, input.rows, input.columns);
}

device::Cost LayerNormBackwardInput::cost() const {
    const std::size_t read =
        input.bytes() + gain.bytes() + mean.bytes() + inv_std.bytes() + grad_output.bytes() + residual.bytes();
    const char* const kernel =
        residual.is_present() ? "layer_norm_backward_input_and_add" : "layer_norm_backward_input";
    return {.kernel = kernel, .bytes = static_cast<double>(read + grad_input.bytes())};
}

NamedTensors LayerNormBackwardInput::tensors() const {
    return {{"input", input},
            {"gain", gain},
            {"mean", mean},
            {"inv_std", inv_std},
            {"grad_output", grad_output},
            {"residual", residual},
            {"grad_input", grad_input}};
}

void LayerNormBackwardWeight::check() const {
    const ShapeCheck check("layer_norm_backward_weight", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_wide_vector("mean", mean, input.rows);
    check.require_wide_vector("inv_std", inv_std, input.rows);
    check.require_matrix("grad_output", grad_output, input.rows, input.columns);
    check.require_wide_vector("grad_gain", grad_gain, input.columns);
    check.require_wide_vector("grad_bias", grad_bias, input.columns);
}

device::Cost LayerNormBackwardWeight::cost() const {
    const std::size_t read = input.bytes() + mean.bytes() + inv_std.bytes() + grad_output.bytes();
    const std::size_t accumulated_bytes = grad_gain.bytes() + grad_bias.bytes();
    return {.kernel = "layer_norm_backward_weight", .bytes = static_cast<double>(read + 2 * accumulated_bytes)};
}

NamedTensors LayerNormBackwardWeight::tensors() const {
    return {{"input", input},         {"mean", mean},
            {"inv_std", inv_std},     {"grad_output", grad_output},
            {"grad_gain", grad_gain}, {"grad_bias", grad_bias}};
}

void RmsNorm::check() const {
    const ShapeCheck check("rms_norm", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_vector("gain", gain, input.columns);
    check.require_matrix("output", output, input.rows, input.columns);
    check.require_wide_vector("inv_rms", inv_rms, input.rows);
    check_fused_sum(check, fused_sum, input);
}

device::Cost RmsNorm::cost() const {
    return {.kernel = fused_sum.is_present() ? "residual_add_and_rms_norm" : "rms_norm",
            .bytes = count_forward_bytes(fused_sum, input, gain.bytes() + output.bytes() + inv_rms.bytes())};
}

NamedTensors RmsNorm::tensors() const {
    NamedTensors named_tensors = list_input_tensors(input, fused_sum);
    named_tensors.insert(named_tensors.end(), {{"gain", gain}, {"output", output}, {"inv_rms", inv_rms}});
    return named_tensors;
}

void RmsNormBackwardInput::check() const {
    const ShapeCheck check("rms_norm_backward_input", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_vector("gain", gain, input.columns);
    check.require_wide_vector("inv_rms", inv_rms, input.rows);
    check.require_matrix("grad_output", grad_output, input.rows, input.columns);
    if (residual.is_present()) check.require_matrix("residual", residual, input.rows, input.columns);
    check.require_matrix("grad_input", grad_input, input.rows, input.columns);
}

device::Cost RmsNormBackwardInput::cost() const {
    const std::size_t read =
        input.bytes() + gain.bytes() + inv_rms.bytes() + grad_output.bytes() + residual.bytes();
    const char* const kernel =
        residual.is_present() ? "rms_norm_backward_input_and_add" : "rms_norm_backward_input";
    return {.kernel = kernel, .bytes = static_cast<double>(read + grad_input.bytes())};
}

NamedTensors RmsNormBackwardInput::tensors() const {
    return {{"input", input},       {"gain", gain},
            {"inv_rms", inv_rms},   {"grad_output", grad_output},
            {"residual", residual}, {"grad_input", grad_input}};
}

void RmsNormBackwardWeight::check() const {
    const ShapeCheck check("rms_norm_backward_weight", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_wide_vector("inv_rms", inv_rms, input.rows);
    check.require_matrix("grad_output", grad_output, input.rows, input.columns);
    check.require_wide_vector("grad_gain", grad_gain, input.columns);
}

device::Cost RmsNormBackwardWeight::cost() const {
    const std::size_t read = input.bytes() + inv_rms.bytes() + grad_output.bytes();
    return {.kernel = "rms_norm_backward_weight", .bytes = static_cast<double>(read + 2 * grad_gain.bytes())};
}

NamedTensors RmsNormBackwardWeight::tensors() const {
    return {{"input", input}, {"inv_rms", inv_rms}, {"grad_output", grad_output}, {"grad_gain", grad_gain}};
}

}  // namespace trireme::kernels
