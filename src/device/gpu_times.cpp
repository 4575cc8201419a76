#include "trireme/device/gpu_times.hpp"

#include "trireme/device/gpu.hpp"

namespace trireme::device {

std::size_t GpuTimes::record_event() {
    if (used_events_ == events_.size()) events_.emplace_back();
    queue_.mark(events_[used_events_]);
    return used_events_++;
}

// Limits the number of kernels that are queued and not executed yet. CUDA queues about a thousand operations. A
// kernel and its events are two or three operations. Once the queue is full, calls block inside CUDA, and the
// rank could not detect that the GPU hangs.
void GpuTimes::limit_queued_kernels() {
    constexpr std::size_t max_kernels_ahead = 192;
    constexpr std::size_t kernels_between_checks = 64;
    if (kernels_.size() < max_kernels_ahead || kernels_.size() % kernels_between_checks != 0) return;
    queue_.wait_until_over(events_[kernels_[kernels_.size() - max_kernels_ahead].end]);
}

// If the GPU is still busy, the kernel begins when the previous kernel ends.
void GpuTimes::begin() {
    limit_queued_kernels();
    const bool is_gpu_busy = !kernels_.empty() && !events_[kernels_.back().end].is_over();
    begin_event_ = is_gpu_busy ? kernels_.back().end : record_event();
}

void GpuTimes::end(const Cost& cost, const Stream& stream) {
    kernels_.push_back({.cost = cost,
                        .begin = begin_event_,
                        .end = record_event(),
                        .clock_delay = stream.predict_clock_delay(cost, /*seconds=*/1)});
}

// A profiler synchronizes the stream after each kernel, so that `kernels_` is then empty. A profiler does not
// read the matmul work.
void GpuTimes::mark_as_matmul(const MatmulWork& work) {
    if (!kernels_.empty()) kernels_.back().matmul = work;
}

void GpuTimes::synchronize(Ledger& ledger, MatmulWork& matmuls) {
    if (used_events_ > 0) queue_.wait_until_over(events_[used_events_ - 1]);
    for (TimedKernel& kernel : kernels_) {
        const double seconds = events_[kernel.end].seconds_since(events_[kernel.begin]);
        const double clock_delay = seconds * kernel.clock_delay;
        ledger.add(kernel.cost, seconds, clock_delay);
        if (kernel.matmul.calls > 0) {
            kernel.matmul.seconds = seconds;
            kernel.matmul.clock_delay = clock_delay;
        }
        matmuls += kernel.matmul;
    }
    kernels_.clear();
    used_events_ = 0;
}

void GpuQueue::wait() const {
    wait_until([this] { return is_idle(); }, wait_policy_, [] { return "its GPU to finish all queued work"; });
}

void GpuQueue::wait_until_over(const GpuEvent& event) const {
    wait_until([&] { return event.is_over(); }, wait_policy_, [] { return "its GPU to finish earlier work"; });
}

}  // namespace trireme::device
