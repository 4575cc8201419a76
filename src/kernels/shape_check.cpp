#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

std::string shape(device::DType dtype, std::size_t rows, std::size_t columns) {
    return cat(name_of(dtype), " ", rows, " x ", columns);
}

}  // namespace

ShapeCheck::ShapeCheck(std::string_view operation, device::DType dtype, Where where)
    : operation_(operation), dtype_(dtype), where_(where) {
    const bool is_floating =
        dtype == device::DType::f32 || dtype == device::DType::f64 || dtype == device::DType::bf16;
    demand(is_floating, "is defined for f32 and f64, not for ", name_of(dtype));
}

void ShapeCheck::matrix(std::string_view name, const device::ConstTensor& tensor, std::size_t rows,
                        std::size_t columns) const {
    expect(name, tensor, dtype_, rows, columns);
}

void ShapeCheck::matrix_of(device::DType dtype, std::string_view name, const device::ConstTensor& tensor,
                           std::size_t rows, std::size_t columns) const {
    expect(name, tensor, dtype, rows, columns);
}

void ShapeCheck::vector(std::string_view name, const device::ConstTensor& tensor, std::size_t size) const {
    expect(name, tensor, dtype_, 1, size);
}

void ShapeCheck::wide_matrix(std::string_view name, const device::ConstTensor& tensor, std::size_t rows,
                             std::size_t columns) const {
    expect(name, tensor, wide_of(dtype_), rows, columns);
}

void ShapeCheck::wide_vector(std::string_view name, const device::ConstTensor& tensor, std::size_t size) const {
    expect(name, tensor, wide_of(dtype_), 1, size);
}

void ShapeCheck::vector_of(device::DType dtype, std::string_view name, const device::ConstTensor& tensor,
                           std::size_t size) const {
    expect(name, tensor, dtype, 1, size);
}

void ShapeCheck::flat(std::string_view name, const device::ConstTensor& tensor, std::size_t size) const {
    demand(tensor.dtype == dtype_ && tensor.size() == size, name, " has ", tensor.size(), " elements of ",
           name_of(tensor.dtype), ", not ", size, " of ", name_of(dtype_));
    demand(tensor.is_contiguous(), name, " is not contiguous: ", tensor.columns, " columns lie ", tensor.stride,
           " elements apart");
}

void ShapeCheck::alike(std::string_view name, const device::ConstTensor& tensor,
                       const device::ConstTensor& like) const {
    const bool are_whole = tensor.is_contiguous() && like.is_contiguous();
    are_whole ? flat(name, tensor, like.size()) : matrix(name, tensor, like.rows, like.columns);
}

void ShapeCheck::expect(std::string_view name, const device::ConstTensor& got, device::DType dtype,
                        std::size_t rows, std::size_t columns) const {
    const bool has_shape = got.dtype == dtype && got.rows == rows && got.columns == columns;
    if (!has_shape) {  // composed only on failure: it would take longer than a small kernel
        fail(cat(name, " is ", shape(got.dtype, got.rows, got.columns), ", not ", shape(dtype, rows, columns)));
    }
    demand(got.rows <= 1 || got.stride >= got.columns, name, " has rows of ", got.columns, " columns only ",
           got.stride, " elements apart");
}

void ShapeCheck::fail(const std::string& sentence) const {
    throw BugError(cat(operation_, ": ", sentence), where_);
}

}  // namespace trireme::kernels
