#include "trireme/kernels/update.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

// The decay mask is indexed by column, so all tensors must have the shape of the parameter; the same size is
// not enough.
void check_decay_mask(const ShapeCheck& check, const device::ConstTensor& decay_mask,
                      const device::ConstTensor& parameter, std::initializer_list<NamedTensor> operands) {
    if (!decay_mask.is_present()) return;
    check.require_vector(device::DType::i32, "decaying", decay_mask, parameter.columns);
    for (const NamedTensor& operand : operands) {
        if (operand.tensor.is_present())
            check.require_matrix(operand.name, operand.tensor, parameter.rows, parameter.columns);
    }
}

void check_rounded_parameter(const ShapeCheck& check, const device::ConstTensor& rounded_parameter,
                             const device::ConstTensor& parameter) {
    if (rounded_parameter.is_present())
        check.require_matrix(device::DType::bf16, "rounded", rounded_parameter, parameter.rows,
                             parameter.columns);
}

}  // namespace

void AdamWUpdate::check() const {
    const ShapeCheck check("adamw", parameter.dtype);
    check.require_same_shape("gradient", gradient, parameter);
    check.require_same_shape("moment1", moment1, parameter);
    check.require_same_shape("moment2", moment2, parameter);
    check.demand(step >= 1, "steps count from 1, got ", step);
    check_decay_mask(check, decay_mask, parameter,
                     {{"gradient", gradient}, {"moment1", moment1}, {"moment2", moment2}});
    check_rounded_parameter(check, rounded_parameter, parameter);
}

device::Cost AdamWUpdate::cost() const {
    const std::size_t bytes = gradient.bytes() + 2 * (parameter.bytes() + moment1.bytes() + moment2.bytes());
    return {.kernel = "adamw", .bytes = static_cast<double>(bytes + rounded_parameter.bytes())};
}

NamedTensors AdamWUpdate::tensors() const {
    return {{"parameter", parameter}, {"gradient", gradient},   {"moment1", moment1},
            {"moment2", moment2},     {"decaying", decay_mask}, {"rounded", rounded_parameter}};
}

void SgdUpdate::check() const {
    const ShapeCheck check("sgd", parameter.dtype);
    check.require_same_shape("gradient", gradient, parameter);
    if (velocity.is_present() || momentum != 0) check.require_same_shape("velocity", velocity, parameter);
    check_decay_mask(check, decay_mask, parameter, {{"gradient", gradient}, {"velocity", velocity}});
    check_rounded_parameter(check, rounded_parameter, parameter);
}

device::Cost SgdUpdate::cost() const {
    const std::size_t bytes = gradient.bytes() + 2 * (parameter.bytes() + velocity.bytes());
    return {.kernel = "sgd", .bytes = static_cast<double>(bytes + rounded_parameter.bytes())};
}

NamedTensors SgdUpdate::tensors() const {
    return {{"parameter", parameter},
            {"gradient", gradient},
            {"velocity", velocity},
            {"decaying", decay_mask},
            {"rounded", rounded_parameter}};
}

void SumOfSquares::check() const {
    const ShapeCheck check("sum_of_squares", input.dtype);
    check.require_vector(device::DType::f64, "result", result, 1);
}

device::Cost SumOfSquares::cost() const {
    return {.kernel = "sum_of_squares", .bytes = static_cast<double>(input.bytes() + result.bytes())};
}

NamedTensors SumOfSquares::tensors() const { return {{"input", input}, {"result", result}}; }

}  // namespace trireme::kernels
