// Compares tensors with the shapes that an operation declares; used by check() of each operation.
#pragma once

#include <string>
#include <string_view>

#include "trireme/base/error.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// The shape checks of one operation. Each throws BugError with the operation's name and the wrong numbers.
class ShapeCheck {
public:
    // `dtype` is the type of the floating-point operands: f32, f64 or bf16.
    ShapeCheck(std::string_view operation, device::DType dtype, Where where = Where::here());

    void matrix(std::string_view name, const device::ConstTensor& tensor, std::size_t rows,
                std::size_t columns) const;
    void matrix_of(device::DType dtype, std::string_view name, const device::ConstTensor& tensor,
                   std::size_t rows, std::size_t columns) const;
    void vector(std::string_view name, const device::ConstTensor& tensor, std::size_t size) const;
    // The two wide checks expect f32 if the operation's type is bf16, else the operation's type. They are for
    // statistics and gradients of parameters.
    void wide_matrix(std::string_view name, const device::ConstTensor& tensor, std::size_t rows,
                     std::size_t columns) const;
    void wide_vector(std::string_view name, const device::ConstTensor& tensor, std::size_t size) const;
    void vector_of(device::DType dtype, std::string_view name, const device::ConstTensor& tensor,
                   std::size_t size) const;
    void flat(std::string_view name, const device::ConstTensor& tensor,
              std::size_t size) const;  // any shape, contiguous

    // Requires the shape of `like`, or only its size if both tensors are contiguous.
    void alike(std::string_view name, const device::ConstTensor& tensor, const device::ConstTensor& like) const;
    // Throws BugError unless `holds`; `parts` are concatenated to the message.
    template <class... Parts>
    void demand(bool holds, const Parts&... parts) const {
        if (!holds) fail(cat(parts...));
    }

private:
    void expect(std::string_view name, const device::ConstTensor& got, device::DType dtype, std::size_t rows,
                std::size_t columns) const;
    [[noreturn]] void fail(const std::string& sentence) const;

    std::string_view operation_;
    device::DType dtype_;
    Where where_;
};

}  // namespace trireme::kernels
