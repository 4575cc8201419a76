// What the processor sends to the GPU again and again, through memory that it keeps.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "trireme/device/gpu.hpp"

namespace trireme {

class ByteSender {
public:
    explicit ByteSender(GpuQueue& queue);  // which outlives all that was sent
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

}  // namespace trireme
