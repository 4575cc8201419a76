#include "trireme/kernels/columns.hpp"

#include "kernels/shape_check.hpp"
#include "kernels/unindexed_fill.hpp"

namespace trireme::kernels {

void GatherColumns::check() const {
    const ShapeCheck check("gather_columns", output.dtype);
    check.require_matrix("input", input, output.rows, input.columns);
    check.require_vector(device::DType::i32, "columns", columns, output.columns);
    check.require_matrix("output", output, output.rows, output.columns);
}

device::Cost GatherColumns::cost() const {
    return {.kernel = "gather_columns", .bytes = static_cast<double>(columns.bytes() + 2 * output.bytes())};
}

NamedTensors GatherColumns::tensors() const {
    return {{"input", input}, {"columns", columns}, {"output", output}};
}

void ScatterColumns::check() const {
    const ShapeCheck check("scatter_columns", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_vector(device::DType::i32, "columns", columns, input.columns);
    check.require_matrix("output", output, input.rows, output.columns);
    check_mean_exists(check, unindexed_fill, input.columns, output.columns);
}

device::Cost ScatterColumns::cost() const {
    return {.kernel = "scatter_columns",
            .bytes = static_cast<double>(columns.bytes() +
                                         count_scattered_bytes(input, output, unindexed_fill, accumulate))};
}

NamedTensors ScatterColumns::tensors() const {
    return {{"input", input}, {"columns", columns}, {"output", output}};
}

}  // namespace trireme::kernels
