#include "trireme/kernels/image_rows.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

// Returns the number of output rows. Throws BugError if the patches do not form whole images.
std::size_t count_output_rows(const ShapeCheck& check, const device::ConstTensor& patches,
                              const device::ConstTensor& position_table) {
    const std::size_t positions = position_table.rows;
    check.demand(positions > 1,
                 "position_table needs at least 2 rows, for the class token and a patch, but has ", positions);
    check.demand(patches.rows % (positions - 1) == 0, patches.rows,
                 " rows of patches cannot be cut into images (patches per image: ", positions - 1, ")");
    return patches.rows / (positions - 1) * positions;
}

}  // namespace

void ImageRows::check() const {
    const ShapeCheck check("image_rows", output.dtype);
    const std::size_t rows = count_output_rows(check, patches, position_table);
    check.require_matrix("patches", patches, patches.rows, output.columns);
    check.require_vector("class_token", class_token, output.columns);
    check.require_matrix("position_table", position_table, position_table.rows, output.columns);
    check.require_matrix("output", output, rows, output.columns);
}

device::Cost ImageRows::cost() const {
    const std::size_t read = patches.bytes() + class_token.bytes() + position_table.bytes();
    return {.kernel = "image_rows", .bytes = static_cast<double>(read + output.bytes())};
}

NamedTensors ImageRows::tensors() const {
    return {{"patches", patches},
            {"class_token", class_token},
            {"position_table", position_table},
            {"output", output}};
}

void ImageRowsBackward::check() const {
    const ShapeCheck check("image_rows_backward", grad_output.dtype);
    const std::size_t rows = count_output_rows(check, grad_patches, grad_position_table);
    check.require_matrix("grad_output", grad_output, rows, grad_output.columns);
    check.require_matrix("grad_patches", grad_patches, grad_patches.rows, grad_output.columns);
    check.require_wide_vector("grad_class_token", grad_class_token, grad_output.columns);
    check.require_wide_matrix("grad_position_table", grad_position_table, grad_position_table.rows,
                              grad_output.columns);
}

device::Cost ImageRowsBackward::cost() const {
    const std::size_t accumulated_bytes = grad_class_token.bytes() + grad_position_table.bytes();
    return {.kernel = "image_rows_backward",
            .bytes = static_cast<double>(grad_output.bytes() + grad_patches.bytes() + 2 * accumulated_bytes)};
}

NamedTensors ImageRowsBackward::tensors() const {
    return {{"grad_output", grad_output},
            {"grad_patches", grad_patches},
            {"grad_class_token", grad_class_token},
            {"grad_position_table", grad_position_table}};
}

}  // namespace trireme::kernels
