#include "trireme/kernels/image_rows.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

// Returns the number of output rows. Throws BugError if the patches do not form whole images.
std::size_t image_rows(const ShapeCheck& check, const device::ConstTensor& patches,
                       const device::ConstTensor& place_table) {
    const std::size_t places = place_table.rows;
    check.demand(places > 1, "place_table has ", places,
                 " rows, but an image has a class token and at least one patch");
    check.demand(patches.rows % (places - 1) == 0, patches.rows,
                 " rows of patches cannot be cut into images of ", places - 1);
    return patches.rows / (places - 1) * places;
}

}  // namespace

void ImageRows::check() const {
    const ShapeCheck check("image_rows", output.dtype);
    const std::size_t rows = image_rows(check, patches, place_table);
    check.matrix("patches", patches, patches.rows, output.columns);
    check.vector("class_token", class_token, output.columns);
    check.matrix("place_table", place_table, place_table.rows, output.columns);
    check.matrix("output", output, rows, output.columns);
}

device::Cost ImageRows::cost() const {
    const std::size_t read = patches.bytes() + class_token.bytes() + place_table.bytes();
    return {.kernel = "image_rows", .bytes = static_cast<double>(read + output.bytes())};
}

NamedTensors ImageRows::tensors() const {
    return {
        {"patches", patches}, {"class_token", class_token}, {"place_table", place_table}, {"output", output}};
}

void ImageRowsBackward::check() const {
    const ShapeCheck check("image_rows_backward", grad_output.dtype);
    const std::size_t rows = image_rows(check, grad_patches, grad_place_table);
    check.matrix("grad_output", grad_output, rows, grad_output.columns);
    check.matrix("grad_patches", grad_patches, grad_patches.rows, grad_output.columns);
    check.wide_vector("grad_class_token", grad_class_token, grad_output.columns);
    check.wide_matrix("grad_place_table", grad_place_table, grad_place_table.rows, grad_output.columns);
}

device::Cost ImageRowsBackward::cost() const {
    const std::size_t summed = grad_class_token.bytes() + grad_place_table.bytes();
    return {.kernel = "image_rows_backward",
            .bytes = static_cast<double>(grad_output.bytes() + grad_patches.bytes() + 2 * summed)};
}

NamedTensors ImageRowsBackward::tensors() const {
    return {{"grad_output", grad_output},
            {"grad_patches", grad_patches},
            {"grad_class_token", grad_class_token},
            {"grad_place_table", grad_place_table}};
}

}  // namespace trireme::kernels
