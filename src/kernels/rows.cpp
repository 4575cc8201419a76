#include "trireme/kernels/rows.hpp"

#include "kernels/shape_check.hpp"
#include "kernels/unindexed_fill.hpp"

namespace trireme::kernels {

void GatherRows::check() const {
    const ShapeCheck check("gather_rows", output.dtype);
    check.require_matrix("input", input, input.rows, output.columns);
    check.require_vector(device::DType::i32, "rows", rows, output.rows);
    check.require_matrix("output", output, output.rows, output.columns);
}

device::Cost GatherRows::cost() const {
    return {.kernel = "gather_rows", .bytes = static_cast<double>(rows.bytes() + 2 * output.bytes())};
}

NamedTensors GatherRows::tensors() const { return {{"input", input}, {"rows", rows}, {"output", output}}; }

void ScatterRows::check() const {
    const ShapeCheck check("scatter_rows", input.dtype);
    check.require_matrix("input", input, input.rows, input.columns);
    check.require_vector(device::DType::i32, "rows", rows, input.rows);
    check.require_matrix("output", output, output.rows, input.columns);
    check_mean_exists(check, unindexed_fill, input.rows, output.rows);
}

device::Cost ScatterRows::cost() const {
    return {.kernel = "scatter_rows",
            .bytes = static_cast<double>(rows.bytes() +
                                         count_scattered_bytes(input, output, unindexed_fill, accumulate))};
}

NamedTensors ScatterRows::tensors() const { return {{"input", input}, {"rows", rows}, {"output", output}}; }

void Copy::check() const {
    const ShapeCheck check_input("copy", input.dtype);
    check_input.require_matrix("input", input, input.rows, input.columns);
    const ShapeCheck check_output("copy", output.dtype);
    check_output.require_matrix("output", output, input.rows, input.columns);
}

device::Cost Copy::cost() const {
    return {.kernel = "copy", .bytes = static_cast<double>(input.bytes() + output.bytes())};
}

NamedTensors Copy::tensors() const { return {{"input", input}, {"output", output}}; }

}  // namespace trireme::kernels
