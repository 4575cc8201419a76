// Compares tensors with the shapes that an operation requires; used by check() of each operation.
#pragma once

#include <string>
#include <string_view>

#include "trireme/base/error.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// The shape checks of one operation. A check that fails throws BugError with the names of the operation and the
// tensor, and with the actual and the expected shape of the tensor. `name` is the tensor's name in the message.
class ShapeCheck {
public:
    // `dtype` is the type of the floating-point operands: f32, f64 or bf16.
    ShapeCheck(std::string_view operation, device::DType dtype, SourcePosition where = SourcePosition::here());

    // The checks without a `dtype` require the operation's type (the constructor's `dtype`), except the wide
    // checks. A vector is a tensor with one row.
    void require_matrix(std::string_view name, const device::ConstTensor& tensor, std::size_t rows,
                        std::size_t columns) const;
    void require_matrix(device::DType dtype, std::string_view name, const device::ConstTensor& tensor,
                        std::size_t rows, std::size_t columns) const;
    void require_vector(std::string_view name, const device::ConstTensor& tensor, std::size_t size) const;
    // The wide checks require the accumulator type: f32 if the operation's type is bf16, else the operation's
    // type. Statistics and gradients of parameters have the accumulator type.
    void require_wide_matrix(std::string_view name, const device::ConstTensor& tensor, std::size_t rows,
                             std::size_t columns) const;
    void require_wide_vector(std::string_view name, const device::ConstTensor& tensor, std::size_t size) const;
    void require_vector(device::DType dtype, std::string_view name, const device::ConstTensor& tensor,
                        std::size_t size) const;
    void require_contiguous(std::string_view name, const device::ConstTensor& tensor,
                            std::size_t size) const;  // any shape with `size` elements is valid

    // Requires the shape of `expected`, or only its size if both tensors are contiguous.
    void require_same_shape(std::string_view name, const device::ConstTensor& tensor,
                            const device::ConstTensor& expected) const;
    // Throws BugError unless `is_satisfied`. The message is the concatenation of `message_parts`.
    template <class... MessageParts>
    void demand(bool is_satisfied, const MessageParts&... message_parts) const {
        if (!is_satisfied) fail(cat(message_parts...));
    }

private:
    void expect(std::string_view name, const device::ConstTensor& actual, device::DType dtype, std::size_t rows,
                std::size_t columns) const;
    [[noreturn]] void fail(const std::string& sentence) const;

    std::string_view operation_;
    device::DType dtype_;
    SourcePosition where_;
};

}  // namespace trireme::kernels
