// Who multiplies matrices on a GPU: cuBLASLt, or plain loops on the tests' emulated one.
#pragma once

#include <memory>

#include "trireme/device/gpu.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// result = left right + bias; added to what is there if `accumulate`. A transposed factor lies in memory as
// (columns, rows) of what is multiplied. Factors are of one type; the result's is theirs or the wide one of it.
//
// What is joined to a product besides its bias, each of it or absent, all of the result's type:
//   activated         (rows, columns)   gelu_tanh(result)
//   activated_from    (rows, columns)   the result is multiplied by gelu_tanh's slope there
// The library takes one of these, or none: see ProductLibrary::multiply_joined().
struct GpuProduct {
    device::ConstTensor left;   // (rows, depth), or (depth, rows) if transposed
    device::ConstTensor right;  // (depth, columns), or (columns, depth) if transposed
    bool is_left_transposed = false;
    bool is_right_transposed = false;
    device::ConstTensor bias = {};  // (columns) of the result's type, or absent
    device::Tensor result;          // (rows, columns)
    bool accumulate = false;
    device::Tensor activated = {};
    device::ConstTensor activated_from = {};

    std::size_t depth() const { return is_left_transposed ? left.rows : left.columns; }
};

class ProductLibrary {
public:
    ProductLibrary();
    ~ProductLibrary();

    static std::size_t bytes();  // of the GPU's memory that one takes

    // False, and nothing was done, where what is joined to the product, its bias or something else, is left to
    // others. A product alone is always made.
    [[nodiscard]] bool multiply_joined(device::GpuQueue& queue, const GpuProduct& product);
    void multiply(device::GpuQueue& queue, const GpuProduct& product);

private:
    class Lt;

    std::unique_ptr<Lt> lt_;
};

// Matrix products in bf16 with a side that is no multiple of 8.
//
// cuBLASLt has no fast algorithms for them: GPT-2's logits, of 50,257 tokens, take 6.5 times as long as those
// of 50,304 tokens on an H200. Such a product is therefore made as two: one with the largest multiple of 8, and
// one with the remaining columns or terms, at most 7.
void multiply(ProductLibrary& library, device::GpuQueue& queue, const GpuProduct& product);

// False, and nothing was done, where the library cannot join what is asked for, or where the product is made as
// two.
[[nodiscard]] bool multiply_joined(ProductLibrary& library, device::GpuQueue& queue, const GpuProduct& product);

}  // namespace trireme::kernels
