// Measures the times of kernels on a GPU with CUDA events. The times are known only after the kernels have
// ended.
#pragma once

#include <vector>

#include "trireme/device/gpu.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::device {

// Times the kernels of one queue, which must outlive this object. Records an event after each kernel, and
// another event before a kernel if the GPU is idle, so that no kernel is charged with idle time.
class GpuTimes {
public:
    explicit GpuTimes(GpuQueue& queue) : queue_(queue) {}

    GpuQueue& queue() { return queue_; }

    // Called immediately before and after a kernel is queued, in this order. `stream` has the clock of the
    // kernel.
    void begin();
    void end(const Cost& cost, const Stream& stream);
    // Marks the kernel of the last end() as a matmul of a transformer block. `work` has the flops of the
    // matmul.
    void mark_as_matmul(const MatmulWork& work);

    // Waits until all kernels have ended, adds their times to `ledger` and `matmuls`, and forgets the kernels.
    void synchronize(Ledger& ledger, MatmulWork& matmuls);

private:
    struct TimedKernel {
        Cost cost;
        std::size_t begin = 0;  // indices in events_: the events before and after the kernel
        std::size_t end = 0;
        double clock_delay = 0;  // see Stream::predict_clock_delay(); per second of the kernel
        MatmulWork matmul = {};  // without seconds; zero if the kernel is no matmul of a block
    };

    std::size_t record_event();
    void limit_queued_kernels();

    GpuQueue& queue_;
    std::vector<GpuEvent> events_;  // reused after synchronize()
    std::size_t used_events_ = 0;   // number of events in use
    std::size_t begin_event_ = 0;   // index of the event at which the current kernel begins
    std::vector<TimedKernel> kernels_;
};

}  // namespace trireme::device
