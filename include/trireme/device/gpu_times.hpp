// Measures kernels on a GPU with events. Their times are known only after the kernels have ended.
#pragma once

#include <vector>

#include "trireme/device/gpu.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::device {

// Times the kernels of one queue, which must outlive it. Events are recorded after each kernel, and before a
// kernel that finds the GPU idle, so that idle time counts for no kernel.
class GpuTimes {
public:
    explicit GpuTimes(GpuQueue& queue) : queue_(queue) {}

    GpuQueue& queue() { return queue_; }

    // Called immediately before and after a kernel is queued.
    void begin();
    void end(const Cost& cost);
    // Marks the kernel of the last end() as a matmul of a transformer block.
    void note_product(double flops, double whole_flops);

    // Waits until all kernels are over, enters their times and forgets them.
    void settle(Ledger& ledger, ProductWork& products);

private:
    struct Lap {
        Cost cost;
        std::size_t begin = 0;  // index in moments_; also `end`
        std::size_t end = 0;
        ProductWork product = {};  // without seconds; zero if the kernel is no matmul of a block
    };

    std::size_t mark();
    void stay_near();

    GpuQueue& queue_;
    std::vector<GpuMoment> moments_;  // reused after settle()
    std::size_t marked_ = 0;          // number of moments in use
    std::size_t begun_ = 0;           // index of the moment at which the current kernel begins
    std::vector<Lap> laps_;
};

}  // namespace trireme::device
