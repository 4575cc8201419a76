#include "trireme/device/gpu_times.hpp"

namespace trireme {

std::size_t GpuTimes::mark() {
    if (marked_ == moments_.size()) moments_.emplace_back();
    queue_.mark(moments_[marked_]);
    return marked_++;
}

// What goes on behind the last lap begins when that ends.
void GpuTimes::begin() {
    const bool goes_on = !laps_.empty() && !moments_[laps_.back().end].is_over();
    begun_ = goes_on ? laps_.back().end : mark();
}

void GpuTimes::end(const Cost& cost) { laps_.push_back({.cost = cost, .begin = begun_, .end = mark()}); }

// Who has kernels one by one has settled it already, and asks for no shares of steps.
void GpuTimes::note_product(double flops, double whole_flops) {
    if (!laps_.empty()) laps_.back().product = {.flops = flops, .whole_flops = whole_flops};
}

void GpuTimes::settle(Ledger& ledger, ProductWork& products) {
    if (marked_ > 0) moments_[marked_ - 1].wait();
    for (Lap& lap : laps_) {
        const double seconds = moments_[lap.end].seconds_since(moments_[lap.begin]);
        ledger.add(lap.cost, seconds);
        if (lap.product.flops + lap.product.whole_flops > 0) lap.product.seconds = seconds;
        products += lap.product;
    }
    laps_.clear();
    marked_ = 0;
}

}  // namespace trireme
