// Who multiplies matrices on a GPU: cuBLASLt, or plain loops on the tests' emulated one.
#pragma once

#include <memory>

#include "kernels/cuda/gpu_product.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme {

class ProductLibrary {
public:
    ProductLibrary();
    ~ProductLibrary();

    static std::size_t bytes();  // of the GPU's memory that one takes

    void multiply(GpuQueue& queue, const GpuProduct& product);

    // False where it is left to others to add the bias: the product is made without one then.
    bool takes_bias(const GpuProduct& product);

private:
    class Lt;

    std::unique_ptr<Lt> lt_;
};

}  // namespace trireme
