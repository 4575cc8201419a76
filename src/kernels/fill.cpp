#include "trireme/kernels/fill.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {

void Fill::check() const {
    const ShapeCheck check("fill", output.dtype);
    check.require_matrix("output", output, output.rows, output.columns);
}

device::Cost Fill::cost() const { return {.kernel = "fill", .bytes = static_cast<double>(output.bytes())}; }

NamedTensors Fill::tensors() const { return {{"output", output}}; }

void FillNormal::check() const {
    const ShapeCheck check("fill_normal", output.dtype);
    check.require_matrix("output", output, output.rows, output.columns);
    check.demand(global_columns >= output.columns, "a slice of ", output.columns,
                 " columns cannot come from a tensor of ", global_columns, " columns");
}

device::Cost FillNormal::cost() const {
    return {.kernel = "fill_normal", .bytes = static_cast<double>(output.bytes())};
}

NamedTensors FillNormal::tensors() const { return {{"output", output}}; }

}  // namespace trireme::kernels
