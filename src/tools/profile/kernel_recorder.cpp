#include "tools/profile/kernel_recorder.hpp"

#include <tuple>

#include "trireme/base/numbers.hpp"

namespace trireme::tools {

bool KernelRecorder::Less::operator()(const plan::KernelProfile& a, const plan::KernelProfile& b) const {
    const auto make_key = [](const plan::KernelProfile& profile) {
        return std::tie(profile.kernel, profile.call.matmul, profile.call.bytes, profile.call.flops);
    };
    return make_key(a) < make_key(b);
}

// The ledger adds up the calls of a kernel even if their bytes differ, so the recorder empties the ledger after
// each call. The recorder does so in the callback `predict_seconds`, which launch() calls before it enters the
// current kernel into the ledger. At that time the ledger contains only the previous call. The callback returns
// 0, which adds no time to the kernel.
void KernelRecorder::record() {
    stream_.ledger.clear();
    stream_.predict_seconds = [this](const device::Cost&, double) {
        collect_last_call();
        return 0.0;
    };
}

void KernelRecorder::pause() {
    if (stream_.predict_seconds) collect_last_call();
    stream_.predict_seconds = {};
}

KernelRecorder::KernelRecorder(device::Stream& stream) : stream_(stream) {}
KernelRecorder::~KernelRecorder() { stream_.predict_seconds = {}; }

void KernelRecorder::collect_last_call() {
    for (const device::Ledger::Entry& entry : stream_.ledger.entries()) {
        const device::Cost& cost = entry.total_cost;
        const plan::KernelProfile group{
            .kernel = std::string(cost.kernel),
            .call = {.flops = cost.flops, .bytes = cost.bytes, .matmul = cost.matmul}};
        seconds_[group].push_back(entry.seconds);
    }
    stream_.ledger.clear();
}

std::vector<plan::KernelProfile> KernelRecorder::compute_medians() const {
    std::vector<plan::KernelProfile> kernels;
    for (const auto& [group, seconds] : seconds_) {
        const double median = compute_median(seconds);
        if (group.call.bytes == 0 || median <= 0) continue;  // empty tensors, or too short for the clock
        kernels.push_back(
            {.kernel = group.kernel, .call = group.call, .calls = seconds.size(), .seconds = median});
    }
    return kernels;
}

}  // namespace trireme::tools
