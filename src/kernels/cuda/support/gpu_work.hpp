// State of a stream on the GPU: queue, matmul library, scratch memory and copies of host lists.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::kernels {

class ProductLibrary;  // the matmul library of the GPU

class GpuWork {
public:
    GpuWork();
    ~GpuWork();

    static std::size_t bytes();  // GPU memory that the constructor allocates

    device::GpuQueue& queue() { return queue_; }
    const device::GpuFacts& facts() const { return facts_; }
    ProductLibrary& products() { return *products_; }

    // Returns scratch memory for the kernels of one operation; the next call reuses it. The initial size is
    // enough for nearly all models. A larger request waits for the queue and reallocates.
    std::byte* scratch(std::size_t bytes);

    // Returns a copy of the elements in GPU memory for the kernels that follow. Content that was sent recently
    // is not sent again. An operation may send at most two lists, because a third may overwrite the first.
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
