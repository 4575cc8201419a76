#include "trireme/device/gpu_times.hpp"

#include "trireme/device/gpu.hpp"

namespace trireme::device {

std::size_t GpuTimes::mark() {
    if (marked_ == moments_.size()) moments_.emplace_back();
    queue_.mark(moments_[marked_]);
    return marked_++;
}

// The library takes a thousand pieces of work or so that the GPU has not come to; who gives it one more waits
// in it, and does not hear that the GPU hangs. A kernel is two to three of them.
void GpuTimes::stay_near() {
    constexpr std::size_t most_ahead = 192;  // kernels
    constexpr std::size_t between_looks = 64;
    if (laps_.size() < most_ahead || laps_.size() % between_looks != 0) return;
    queue_.wait_until_over(moments_[laps_[laps_.size() - most_ahead].end]);
}

// What goes on behind the last lap begins when that ends.
void GpuTimes::begin() {
    stay_near();
    const bool goes_on = !laps_.empty() && !moments_[laps_.back().end].is_over();
    begun_ = goes_on ? laps_.back().end : mark();
}

void GpuTimes::end(const Cost& cost) { laps_.push_back({.cost = cost, .begin = begun_, .end = mark()}); }

// Who has kernels one by one has settled it already, and asks for no shares of steps.
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
