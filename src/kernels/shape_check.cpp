#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

std::string format_shape(device::DType dtype, std::size_t rows, std::size_t columns) {
    return cat(to_string(dtype), " ", rows, " x ", columns);
}

}  // namespace

ShapeCheck::ShapeCheck(std::string_view operation, device::DType dtype, SourcePosition where)
    : operation_(operation), dtype_(dtype), where_(where) {
    const bool is_floating =
        dtype == device::DType::f32 || dtype == device::DType::f64 || dtype == device::DType::bf16;
    demand(is_floating, "is defined for f32, f64 and bf16, not for ", to_string(dtype));
}

void ShapeCheck::require_matrix(std::string_view name, const device::ConstTensor& tensor, std::size_t rows,
                                std::size_t columns) const {
    expect(name, tensor, dtype_, rows, columns);
}

void ShapeCheck::require_matrix(device::DType dtype, std::string_view name, const device::ConstTensor& tensor,
                                std::size_t rows, std::size_t columns) const {
    expect(name, tensor, dtype, rows, columns);
}

void ShapeCheck::require_vector(std::string_view name, const device::ConstTensor& tensor,
                                std::size_t size) const {
    expect(name, tensor, dtype_, 1, size);
}

void ShapeCheck::require_wide_matrix(std::string_view name, const device::ConstTensor& tensor, std::size_t rows,
                                     std::size_t columns) const {
    expect(name, tensor, accumulator_type(dtype_), rows, columns);
}

void ShapeCheck::require_wide_vector(std::string_view name, const device::ConstTensor& tensor,
                                     std::size_t size) const {
    expect(name, tensor, accumulator_type(dtype_), 1, size);
}

void ShapeCheck::require_vector(device::DType dtype, std::string_view name, const device::ConstTensor& tensor,
                                std::size_t size) const {
    expect(name, tensor, dtype, 1, size);
}

void ShapeCheck::require_contiguous(std::string_view name, const device::ConstTensor& tensor,
                                    std::size_t size) const {
    demand(tensor.dtype == dtype_ && tensor.size() == size, name, " has ", tensor.size(), " elements of ",
           to_string(tensor.dtype), ", not ", size, " of ", to_string(dtype_));
    demand(tensor.is_contiguous(), name, " is not contiguous: its rows of ", tensor.columns, " columns lie ",
           tensor.stride, " elements apart");
}

void ShapeCheck::require_same_shape(std::string_view name, const device::ConstTensor& tensor,
                                    const device::ConstTensor& expected) const {
    const bool are_contiguous = tensor.is_contiguous() && expected.is_contiguous();
    are_contiguous ? require_contiguous(name, tensor, expected.size())
                   : require_matrix(name, tensor, expected.rows, expected.columns);
}

void ShapeCheck::expect(std::string_view name, const device::ConstTensor& actual, device::DType dtype,
                        std::size_t rows, std::size_t columns) const {
    const bool has_shape = actual.dtype == dtype && actual.rows == rows && actual.columns == columns;
    if (!has_shape) {  // composes the message only on failure: composing takes longer than a small kernel
        fail(cat(name, " is ", format_shape(actual.dtype, actual.rows, actual.columns), ", not ",
                 format_shape(dtype, rows, columns)));
    }
    demand(actual.rows <= 1 || actual.stride >= actual.columns, name, " has rows of ", actual.columns,
           " columns only ", actual.stride, " elements apart");
}

void ShapeCheck::fail(const std::string& sentence) const {
    throw BugError(cat(operation_, ": ", sentence), where_);
}

}  // namespace trireme::kernels
