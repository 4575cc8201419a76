// Who multiplies matrices on a GPU: cuBLASLt, or plain loops on the tests' emulated one.
#pragma once

#include <memory>

#include "kernels/cuda/matmul/gpu_product.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme {

class ProductLibrary {
public:
    ProductLibrary();
    ~ProductLibrary();

    static std::size_t bytes();  // of the GPU's memory that one takes

    // False, and nothing was done, where what is joined to the product, its bias or something else, is left to
    // others. A product alone is always made.
    [[nodiscard]] bool multiply_joined(GpuQueue& queue, const GpuProduct& product);
    void multiply(GpuQueue& queue, const GpuProduct& product);

private:
    class Lt;

    std::unique_ptr<Lt> lt_;
};

}  // namespace trireme
