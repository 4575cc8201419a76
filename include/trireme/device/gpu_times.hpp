// What kernels took on the GPU, which the processor only learns once they are over.
#pragma once

#include <vector>

#include "trireme/device/gpu.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::device {

// Of the kernels of one queue, which outlives it. Marks lie between kernels, and before those that find the GPU
// idle: what it waited for is no kernel's time.
class GpuTimes {
public:
    explicit GpuTimes(GpuQueue& queue) : queue_(queue) {}

    GpuQueue& queue() { return queue_; }

    // Around one kernel.
    void begin();
    void end(const Cost& cost);
    // The kernel that ended last is one of the products of blocks.
    void note_product(double flops, double whole_flops);

    // Waits until all are over, enters them and forgets them.
    void settle(Ledger& ledger, ProductWork& products);

private:
    struct Lap {
        Cost cost;
        std::size_t begin = 0;  // the moments
        std::size_t end = 0;
        ProductWork product = {};  // without its seconds; nothing: it is none
    };

    std::size_t mark();
    void stay_near();

    GpuQueue& queue_;
    std::vector<GpuMoment> moments_;  // made once, used again
    std::size_t marked_ = 0;          // of these
    std::size_t begun_ = 0;           // the moment
    std::vector<Lap> laps_;
};

}  // namespace trireme::device
