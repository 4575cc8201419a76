// What the processor sends to the GPU again and again, through memory that it keeps.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "trireme/device/gpu.hpp"

namespace trireme::device {

class ByteSender {
public:
    // To a queue that outlives all that was sent. There are `blocks` from the first on, each for at most
    // `block_bytes`; others are made when they are needed, and used again.
    explicit ByteSender(GpuQueue& queue, std::size_t block_bytes = 4096, std::size_t blocks = 0);
    ~ByteSender();
    ByteSender(const ByteSender&) = delete;
    ByteSender& operator=(const ByteSender&) = delete;

    // The same bytes on the GPU, for what the queue is given from here on, until they are let go.
    std::shared_ptr<std::byte> send(std::span<const std::byte> bytes);

private:
    struct Pool;
    struct Loan;

    std::shared_ptr<Pool> pool_;
};

}  // namespace trireme::device
