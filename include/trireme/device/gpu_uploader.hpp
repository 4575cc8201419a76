// Asynchronous copies of bytes from host to GPU, through staging buffers that are reused.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "trireme/device/gpu.hpp"

namespace trireme::device {

class GpuUploader {
public:
    // A block is a staging buffer in pinned memory together with GPU memory of the same size. Allocates
    // `blocks` blocks of `block_bytes` bytes now. More blocks, or larger ones, are allocated when they are
    // needed. `queue` must outlive all results of upload().
    explicit GpuUploader(GpuQueue& queue, std::size_t block_bytes = 4096, std::size_t blocks = 0);
    ~GpuUploader();
    GpuUploader(const GpuUploader&) = delete;
    GpuUploader& operator=(const GpuUploader&) = delete;

    // Queues the copy on the queue of the constructor and returns the address of the copy on the GPU. Work that
    // is queued later on that queue may read the copy. The memory of the copy is reused after the last owner of
    // the returned pointer is gone.
    std::shared_ptr<std::byte> upload(std::span<const std::byte> bytes);

private:
    struct Pool;
    struct BorrowedBlock;

    std::shared_ptr<Pool> pool_;
};

}  // namespace trireme::device
