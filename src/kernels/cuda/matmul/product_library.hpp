// The matmul library of a GPU: cuBLASLt, or plain loops on the emulated GPU of the tests.
#pragma once

#include <memory>

#include "trireme/device/gpu.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// One matmul: result = left right + bias; added to the existing values if `accumulate`. A transposed factor is
// stored as the transpose of the matrix that is multiplied. Both factors have one type; the result has that
// type or its wide type.
//
// Optional operations that are fused into the matmul besides the bias, with tensors of the result's type:
//   activated         (rows, columns)   gelu_tanh(result)
//   activated_from    (rows, columns)   result *= gelu_tanh'(activated_from)
// At most one of them may be present: see ProductLibrary::multiply_joined().
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

    static std::size_t bytes();  // GPU memory that the constructor allocates

    // Computes a matmul with its fused operations (bias or activation). Returns false and does nothing if the
    // library cannot fuse them.
    [[nodiscard]] bool multiply_joined(device::GpuQueue& queue, const GpuProduct& product);
    void multiply(device::GpuQueue& queue, const GpuProduct& product);

private:
    class Lt;

    std::unique_ptr<Lt> lt_;
};

// Computes a matmul. A bf16 matmul with a side that is no multiple of 8 is divided into two.
//
// cuBLASLt has no fast algorithms for such sides: on an H200, GPT-2's logits of 50,257 tokens take 6.5 times as
// long as those of 50,304 tokens. One matmul covers the largest multiple of 8, the other the remaining rows,
// columns or terms, at most 7.
void multiply(ProductLibrary& library, device::GpuQueue& queue, const GpuProduct& product);

// Computes a matmul with its fused operations. Returns false and does nothing if the library cannot fuse them
// or if the matmul must be divided into two.
[[nodiscard]] bool multiply_joined(ProductLibrary& library, device::GpuQueue& queue, const GpuProduct& product);

}  // namespace trireme::kernels
