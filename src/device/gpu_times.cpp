#include "trireme/device/gpu_times.hpp"

#include "trireme/device/gpu.hpp"

namespace trireme::device {

std::size_t GpuTimes::mark() {
    if (marked_ == moments_.size()) moments_.emplace_back();
    queue_.mark(moments_[marked_]);
    return marked_++;
}

// Limits how far this runs ahead of the GPU. CUDA queues about a thousand operations, of which a kernel needs
// two or three. Beyond that, calls block inside CUDA, and the rank would not notice that the GPU hangs.
void GpuTimes::stay_near() {
    constexpr std::size_t most_ahead = 192;  // kernels
    constexpr std::size_t between_looks = 64;
    if (laps_.size() < most_ahead || laps_.size() % between_looks != 0) return;
    queue_.wait_until_over(moments_[laps_[laps_.size() - most_ahead].end]);
}

// If the GPU is still busy, the kernel begins when the last lap ends.
void GpuTimes::begin() {
    stay_near();
    const bool goes_on = !laps_.empty() && !moments_[laps_.back().end].is_over();
    begun_ = goes_on ? laps_.back().end : mark();
}

void GpuTimes::end(const Cost& cost) { laps_.push_back({.cost = cost, .begin = begun_, .end = mark()}); }

// If the stream settles after each kernel, there is no lap left, and nothing needs the work of products.
void GpuTimes::note_product(double flops, double whole_flops) {
    if (!laps_.empty()) laps_.back().product = {.flops = flops, .whole_flops = whole_flops};
}

void GpuTimes::settle(Ledger& ledger, ProductWork& products) {
    if (marked_ > 0) queue_.wait_until_over(moments_[marked_ - 1]);
    for (Lap& lap : laps_) {
        const double seconds = moments_[lap.end].seconds_since(moments_[lap.begin]);
        ledger.add(lap.cost, seconds);
        if (lap.product.flops + lap.product.whole_flops > 0) lap.product.seconds = seconds;
        products += lap.product;
    }
    laps_.clear();
    marked_ = 0;
}

void GpuQueue::wait() const {
    wait_until([this] { return is_idle(); }, patience_, [] { return "its GPU to do all that it was given"; });
}

void GpuQueue::wait_until_over(const GpuMoment& moment) const {
    wait_until([&] { return moment.is_over(); }, patience_, [] { return "its GPU to do what it was given"; });
}

}  // namespace trireme::device
