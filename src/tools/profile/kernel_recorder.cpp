#include "tools/profile/kernel_recorder.hpp"

#include <tuple>

#include "trireme/base/numbers.hpp"

namespace trireme::tools {

bool KernelRecorder::Less::operator()(const plan::KernelProfile& a, const plan::KernelProfile& b) const {
    const auto key = [](const plan::KernelProfile& each) {
        return std::tie(each.kernel, each.call.product, each.call.bytes, each.call.flops);
    };
    return key(a) < key(b);
}

// The ledger sums the calls of a kernel regardless of their bytes, so it is emptied between any two calls.
// launch() calls `seconds_of` before it enters its own kernel; by then the ledger has the previous one.
void KernelRecorder::record() {
    stream_.ledger.clear();
    stream_.seconds_of = [this](const device::Cost&, double) {
        take_last();
        return 0.0;
    };
}

void KernelRecorder::pause() {
    if (stream_.seconds_of) take_last();
    stream_.seconds_of = {};
}

KernelRecorder::KernelRecorder(device::Stream& stream) : stream_(stream) {}
KernelRecorder::~KernelRecorder() { stream_.seconds_of = {}; }

void KernelRecorder::take_last() {
    for (const device::Ledger::Entry& entry : stream_.ledger.entries()) {
        const device::Cost& cost = entry.unit;
        const plan::KernelProfile key{
            .kernel = std::string(cost.kernel),
            .call = {.flops = cost.flops, .bytes = cost.bytes, .product = cost.product}};
        seconds_[key].push_back(entry.seconds);
    }
    stream_.ledger.clear();
}

std::vector<plan::KernelProfile> KernelRecorder::medians() const {
    std::vector<plan::KernelProfile> kernels;
    for (const auto& [key, seconds] : seconds_) {
        const double median = median_of(seconds);
        if (key.call.bytes == 0 || median <= 0) continue;  // an empty tensor, or a clock too coarse
        kernels.push_back({.kernel = key.kernel, .call = key.call, .calls = seconds.size(), .seconds = median});
    }
    return kernels;
}

}  // namespace trireme::tools
