// What a stream on the GPU consists of.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::kernels {

class ProductLibrary;  // that multiplies matrices on this GPU

class GpuWork {
public:
    GpuWork();
    ~GpuWork();

    static std::size_t bytes();  // of the GPU's memory that one takes

    device::GpuQueue& queue() { return queue_; }
    const device::GpuFacts& facts() const { return facts_; }
    ProductLibrary& products() { return *products_; }

    // Memory for the kernels of one operation, of which the next one knows nothing. Grows only where that is
    // more than nearly all models need.
    std::byte* scratch(std::size_t bytes);

    // The same elements in the GPU's memory, for kernels that follow. What was told lately is not sent again.
    template <class T>
    const T* tell(std::span<const T> elements) {
        return reinterpret_cast<const T*>(tell_bytes(std::as_bytes(elements)));
    }

private:
    struct Told;

    const std::byte* tell_bytes(std::span<const std::byte> bytes);

    device::GpuQueue queue_;
    device::GpuFacts facts_;
    std::unique_ptr<ProductLibrary> products_;
    device::Buffer scratch_;
    std::unique_ptr<Told> told_;
};

}  // namespace trireme::kernels
