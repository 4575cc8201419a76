// Matrix products in bf16 with a side that is no multiple of 8.
//
// cuBLASLt has no fast algorithms for them: GPT-2's logits, of 50,257 tokens, take 6.5 times as long as those
// of 50,304 tokens on an H200. Such a product is therefore made as two: one with the largest multiple of 8, and
// one with the remaining columns or terms, at most 7.
#pragma once

#include "kernels/cuda/matmul/product_library.hpp"

namespace trireme {

void multiply(ProductLibrary& library, GpuQueue& queue, const GpuProduct& product);

// False, and nothing was done, where the library cannot join what is asked for, or where the product is made as
// two.
[[nodiscard]] bool multiply_joined(ProductLibrary& library, GpuQueue& queue, const GpuProduct& product);

}  // namespace trireme
