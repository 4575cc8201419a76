#include "trireme/kernels/columns.hpp"

#include "kernels/shape_check.hpp"
#include "kernels/unnamed.hpp"

namespace trireme::kernels {

void GatherColumns::check() const {
    const ShapeCheck check("gather_columns", output.dtype);
    check.matrix("input", input, output.rows, input.columns);
    check.vector_of(device::DType::i32, "columns", columns, output.columns);
    check.matrix("output", output, output.rows, output.columns);
}

device::Cost GatherColumns::cost() const {
    return {.kernel = "gather_columns", .bytes = static_cast<double>(columns.bytes() + 2 * output.bytes())};
}

NamedTensors GatherColumns::tensors() const {
    return {{"input", input}, {"columns", columns}, {"output", output}};
}

void ScatterColumns::check() const {
    const ShapeCheck check("scatter_columns", input.dtype);
    check.matrix("input", input, input.rows, input.columns);
    check.vector_of(device::DType::i32, "columns", columns, input.columns);
    check.matrix("output", output, input.rows, output.columns);
    check_mean(check, unnamed, input.columns, output.columns);
}

device::Cost ScatterColumns::cost() const {
    return {
        .kernel = "scatter_columns",
        .bytes = static_cast<double>(columns.bytes() + scattered_bytes(input, output, unnamed, accumulate))};
}

NamedTensors ScatterColumns::tensors() const {
    return {{"input", input}, {"columns", columns}, {"output", output}};
}

}  // namespace trireme::kernels
