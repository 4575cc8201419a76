#include "trireme/kernels/norm.hpp"

#include "kernels/shape_check.hpp"

namespace trireme {

void LayerNorm::check() const {
    const ShapeCheck check("layer_norm", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.vector("gain", gain, input.columns);
    check.vector("bias", bias, input.columns);
    check.matrix("output", output, input.rows, input.columns);
    check.wide_vector("mean", mean, input.rows);
    check.wide_vector("inv_std", inv_std, input.rows);
}

Cost LayerNorm::cost() const {
    const std::size_t read = input.bytes() + gain.bytes() + bias.bytes();
    const std::size_t written = output.bytes() + mean.bytes() + inv_std.bytes();
    return {.kernel = "layer_norm", .bytes = static_cast<double>(read + written)};
}

void LayerNormBackwardInput::check() const {
    const ShapeCheck check("layer_norm_backward_input", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.vector("gain", gain, input.columns);
    check.wide_vector("mean", mean, input.rows);
    check.wide_vector("inv_std", inv_std, input.rows);
    check.matrix("grad_output", grad_output, input.rows, input.columns);
    if (residual.is_present()) check.matrix("residual", residual, input.rows, input.columns);
    check.matrix("grad_input", grad_input, input.rows, input.columns);
}

Cost LayerNormBackwardInput::cost() const {
    const std::size_t read =
        input.bytes() + gain.bytes() + mean.bytes() + inv_std.bytes() + grad_output.bytes() + residual.bytes();
    const char* const kernel =
        residual.is_present() ? "layer_norm_backward_input_and_add" : "layer_norm_backward_input";
    return {.kernel = kernel, .bytes = static_cast<double>(read + grad_input.bytes())};
}

void LayerNormBackwardWeight::check() const {
    const ShapeCheck check("layer_norm_backward_weight", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.wide_vector("mean", mean, input.rows);
    check.wide_vector("inv_std", inv_std, input.rows);
    check.matrix("grad_output", grad_output, input.rows, input.columns);
    check.wide_vector("grad_gain", grad_gain, input.columns);
    check.wide_vector("grad_bias", grad_bias, input.columns);
}

Cost LayerNormBackwardWeight::cost() const {
    const std::size_t read = input.bytes() + mean.bytes() + inv_std.bytes() + grad_output.bytes();
    const std::size_t summed = grad_gain.bytes() + grad_bias.bytes();
    return {.kernel = "layer_norm_backward_weight", .bytes = static_cast<double>(read + 2 * summed)};
}

void RmsNorm::check() const {
    const ShapeCheck check("rms_norm", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.vector("gain", gain, input.columns);
    check.matrix("output", output, input.rows, input.columns);
    check.wide_vector("inv_rms", inv_rms, input.rows);
}

Cost RmsNorm::cost() const {
    const std::size_t read = input.bytes() + gain.bytes();
    return {.kernel = "rms_norm", .bytes = static_cast<double>(read + output.bytes() + inv_rms.bytes())};
}

void RmsNormBackwardInput::check() const {
    const ShapeCheck check("rms_norm_backward_input", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.vector("gain", gain, input.columns);
    check.wide_vector("inv_rms", inv_rms, input.rows);
    check.matrix("grad_output", grad_output, input.rows, input.columns);
    if (residual.is_present()) check.matrix("residual", residual, input.rows, input.columns);
    check.matrix("grad_input", grad_input, input.rows, input.columns);
}

Cost RmsNormBackwardInput::cost() const {
    const std::size_t read =
        input.bytes() + gain.bytes() + inv_rms.bytes() + grad_output.bytes() + residual.bytes();
    const char* const kernel =
        residual.is_present() ? "rms_norm_backward_input_and_add" : "rms_norm_backward_input";
    return {.kernel = kernel, .bytes = static_cast<double>(read + grad_input.bytes())};
}

void RmsNormBackwardWeight::check() const {
    const ShapeCheck check("rms_norm_backward_weight", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.wide_vector("inv_rms", inv_rms, input.rows);
    check.matrix("grad_output", grad_output, input.rows, input.columns);
    check.wide_vector("grad_gain", grad_gain, input.columns);
}

Cost RmsNormBackwardWeight::cost() const {
    const std::size_t read = input.bytes() + inv_rms.bytes() + grad_output.bytes();
    return {.kernel = "rms_norm_backward_weight", .bytes = static_cast<double>(read + 2 * grad_gain.bytes())};
}

}  // namespace trireme
