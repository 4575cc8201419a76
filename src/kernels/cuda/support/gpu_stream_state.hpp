// State of a stream on the GPU: queue, matmul library, scratch memory and copies of host lists.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::kernels {

class MatmulLibrary;  // cuBLASLt, or plain loops on the emulated GPU of the tests

class GpuStreamState {
public:
    GpuStreamState();
    ~GpuStreamState();

    static std::size_t count_gpu_bytes();  // GPU memory that the constructor allocates

    device::GpuQueue& queue() { return queue_; }
    const device::GpuFacts& facts() const { return facts_; }
    MatmulLibrary& matmuls() { return *matmuls_; }

    // Returns scratch memory in GPU memory for the kernels of one operation. The next call reuses the memory.
    // The initial size is enough for nearly all models; a larger request waits for the queue and reallocates.
    std::byte* get_scratch(std::size_t bytes);

    // Returns a copy of a host list in GPU memory for the kernels that follow. If an earlier copy with the same
    // bytes is still there, returns that copy. An operation may upload at most two lists, because a third may
    // overwrite the first.
    template <class T>
    const T* upload(std::span<const T> elements) {
        return reinterpret_cast<const T*>(upload_bytes(std::as_bytes(elements)));
    }

private:
    struct Uploads;

    const std::byte* upload_bytes(std::span<const std::byte> bytes);

    device::GpuQueue queue_;
    device::GpuFacts facts_;
    std::unique_ptr<MatmulLibrary> matmuls_;
    device::Buffer scratch_;
    std::unique_ptr<Uploads> uploads_;
};

}  // namespace trireme::kernels
