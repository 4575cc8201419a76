// Asynchronous copies of bytes from host to GPU, through staging buffers that are reused.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "trireme/device/gpu.hpp"

namespace trireme::device {

class ByteSender {
public:
    // `queue` must outlive all blocks that are sent. Allocates `blocks` blocks of `block_bytes` bytes at once;
    // others are allocated when needed, and reused.
    explicit ByteSender(GpuQueue& queue, std::size_t block_bytes = 4096, std::size_t blocks = 0);
    ~ByteSender();
    ByteSender(const ByteSender&) = delete;
    ByteSender& operator=(const ByteSender&) = delete;

    // Queues the copy and returns the address on the GPU. Work that is queued later may read it. The block is
    // reused once the last owner of the pointer is gone.
    std::shared_ptr<std::byte> send(std::span<const std::byte> bytes);

private:
    struct Pool;
    struct Loan;

    std::shared_ptr<Pool> pool_;
};

}  // namespace trireme::device
