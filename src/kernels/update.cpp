#include "trireme/kernels/update.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

// With a decay flag per column, all tensors need the same shape; the same size is not enough.
void check_decaying(const ShapeCheck& check, const device::ConstTensor& decaying,
                    const device::ConstTensor& parameter, std::initializer_list<device::ConstTensor> others) {
    if (!decaying.is_present()) return;
    check.vector_of(device::DType::i32, "decaying", decaying, parameter.columns);
    for (const device::ConstTensor& other : others) {
        if (other.is_present()) check.matrix("an operand", other, parameter.rows, parameter.columns);
    }
}

void check_rounded(const ShapeCheck& check, const device::ConstTensor& rounded,
                   const device::ConstTensor& parameter) {
    if (rounded.is_present())
        check.matrix_of(device::DType::bf16, "rounded", rounded, parameter.rows, parameter.columns);
}

}  // namespace

void AdamWUpdate::check() const {
    const ShapeCheck check("adamw", parameter.dtype);
    check.alike("gradient", gradient, parameter);
    check.alike("moment1", moment1, parameter);
    check.alike("moment2", moment2, parameter);
    check.demand(step >= 1, "steps count from 1, got ", step);
    check_decaying(check, decaying, parameter, {gradient, moment1, moment2});
    check_rounded(check, rounded, parameter);
}

device::Cost AdamWUpdate::cost() const {
    const std::size_t bytes = gradient.bytes() + 2 * (parameter.bytes() + moment1.bytes() + moment2.bytes());
    return {.kernel = "adamw", .bytes = static_cast<double>(bytes + rounded.bytes())};
}

NamedTensors AdamWUpdate::tensors() const {
    return {{"parameter", parameter}, {"gradient", gradient}, {"moment1", moment1},
            {"moment2", moment2},     {"decaying", decaying}, {"rounded", rounded}};
}

void SgdUpdate::check() const {
    const ShapeCheck check("sgd", parameter.dtype);
    check.alike("gradient", gradient, parameter);
    if (velocity.is_present() || momentum != 0) check.alike("velocity", velocity, parameter);
    check_decaying(check, decaying, parameter, {gradient, velocity});
    check_rounded(check, rounded, parameter);
}

device::Cost SgdUpdate::cost() const {
    const std::size_t bytes = gradient.bytes() + 2 * (parameter.bytes() + velocity.bytes());
    return {.kernel = "sgd", .bytes = static_cast<double>(bytes + rounded.bytes())};
}

NamedTensors SgdUpdate::tensors() const {
    return {{"parameter", parameter},
            {"gradient", gradient},
            {"velocity", velocity},
            {"decaying", decaying},
            {"rounded", rounded}};
}

void SumOfSquares::check() const {
    const ShapeCheck check("sum_of_squares", input.dtype);
    check.vector_of(device::DType::f64, "result", result, 1);
}

device::Cost SumOfSquares::cost() const {
    return {.kernel = "sum_of_squares", .bytes = static_cast<double>(input.bytes() + result.bytes())};
}

NamedTensors SumOfSquares::tensors() const { return {{"input", input}, {"result", result}}; }

}  // namespace trireme::kernels
