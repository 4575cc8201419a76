// The matmul library of a GPU: cuBLASLt, or plain loops on the emulated GPU of the tests.
#pragma once

#include <memory>

#include "trireme/device/gpu.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// One matmul: result = left right + bias, or result += left right + bias if `accumulate`. A transposed factor
// is stored as the transpose of the matrix that is multiplied. Both factors have the same type. The result has
// the type of the factors, or the type in which their products are summed (f32 for bf16).
//
// Optional operations that are fused into the matmul besides the bias, with tensors of the result's type:
//   activated_output    (rows, columns)   gelu_tanh(result)
//   activation_input    (rows, columns)   result *= gelu_tanh'(activation_input)
// At most one of these two tensors may be present. Only multiply_fused() accepts them. `bias` must be absent if
// `activation_input` is present.
struct GpuMatmul {
    device::ConstTensor left;   // (rows, depth), or (depth, rows) if transposed
    device::ConstTensor right;  // (depth, columns), or (columns, depth) if transposed
    bool is_left_transposed = false;
    bool is_right_transposed = false;
    device::ConstTensor bias = {};  // (columns) of the result's type, or absent
    device::Tensor result;          // (rows, columns)
    bool accumulate = false;
    device::Tensor activated_output = {};
    device::ConstTensor activation_input = {};

    std::size_t depth() const { return is_left_transposed ? left.rows : left.columns; }
};

class MatmulLibrary {
public:
    MatmulLibrary();
    ~MatmulLibrary();

    static std::size_t count_gpu_bytes();  // GPU memory that the constructor allocates

    // Launches a matmul with its fused operations (see GpuMatmul). Returns false and does nothing if the
    // library cannot fuse them.
    [[nodiscard]] bool multiply_fused(device::GpuQueue& queue, const GpuMatmul& matmul);
    // Launches a matmul whose bias, activated_output and activation_input are absent.
    void multiply(device::GpuQueue& queue, const GpuMatmul& matmul);

private:
    class Lt;  // the implementation: cuBLASLt or an emulation

    std::unique_ptr<Lt> lt_;
};

// Launches a matmul whose bias, activated_output and activation_input are absent. If a side (rows, columns or
// depth) of a bf16 matmul is not a multiple of 8, the matmul may be divided into two along this side: one for
// the largest multiple of 8, and one for the remaining rows, columns, or terms of the sums (at most 7).
//
// The reason is that cuBLASLt has no fast algorithms for such sides. For example, on an H200, the logits of
// GPT-2 take 6.5 times as long with its vocabulary of 50,257 tokens as with one of 50,304 tokens.
void multiply(MatmulLibrary& library, device::GpuQueue& queue, const GpuMatmul& matmul);

// Launches a matmul with its fused operations. Returns false and does nothing if the library cannot fuse them
// or if the matmul must be divided into two.
[[nodiscard]] bool multiply_fused(MatmulLibrary& library, device::GpuQueue& queue, const GpuMatmul& matmul);

}  // namespace trireme::kernels
