#include "trireme/kernels/update.hpp"

#include "kernels/shape_check.hpp"

namespace trireme {

void AdamWUpdate::check() const {
    const ShapeCheck check("adamw", parameter.dtype);
    check.alike("gradient", gradient, parameter);
    check.alike("moment1", moment1, parameter);
    check.alike("moment2", moment2, parameter);
    check.demand(step >= 1, "steps count from 1, got ", step);
}

Cost AdamWUpdate::cost() const {
    const std::size_t bytes = gradient.bytes() + 2 * (parameter.bytes() + moment1.bytes() + moment2.bytes());
    return {.kernel = "adamw", .bytes = static_cast<double>(bytes)};
}

void SgdUpdate::check() const {
    const ShapeCheck check("sgd", parameter.dtype);
    check.alike("gradient", gradient, parameter);
    if (velocity.is_present() || momentum != 0) check.alike("velocity", velocity, parameter);
}

Cost SgdUpdate::cost() const {
    const std::size_t bytes = gradient.bytes() + 2 * (parameter.bytes() + velocity.bytes());
    return {.kernel = "sgd", .bytes = static_cast<double>(bytes)};
}

void SumOfSquares::check() const {
    const ShapeCheck check("sum_of_squares", input.dtype);
    check.vector_of(DType::f64, "result", result, 1);
}

Cost SumOfSquares::cost() const {
    return {.kernel = "sum_of_squares", .bytes = static_cast<double>(input.bytes() + result.bytes())};
}

}  // namespace trireme
