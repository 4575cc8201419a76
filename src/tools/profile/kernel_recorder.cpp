#include "tools/profile/kernel_recorder.hpp"

#include <tuple>

#include "trireme/base/numbers.hpp"

namespace trireme::tools {

bool KernelRecorder::Less::operator()(const plan::KernelProfile& a, const plan::KernelProfile& b) const {
    const auto key = [](const plan::KernelProfile& each) {
        return std::tie(each.kernel, each.call.matmul, each.call.bytes, each.call.flops);
    };
    return key(a) < key(b);
}

// The ledger adds up the calls of a kernel even if their bytes differ, so the ledger is emptied between any two
// calls. For this the recorder uses the callback `predict_seconds`, which launch() calls before it enters the
// current kernel into the ledger. At that time the ledger contains only the previous call. The callback returns
// 0, so that it adds no time to the kernel.
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
        const plan::KernelProfile key{
            .kernel = std::string(cost.kernel),
            .call = {.flops = cost.flops, .bytes = cost.bytes, .matmul = cost.matmul}};
        seconds_[key].push_back(entry.seconds);
    }
    stream_.ledger.clear();
}

std::vector<plan::KernelProfile> KernelRecorder::compute_medians() const {
    std::vector<plan::KernelProfile> kernels;
    for (const auto& [key, seconds] : seconds_) {
        const double median = compute_median(seconds);
        if (key.call.bytes == 0 || median <= 0) continue;  // an empty tensor, or a clock too coarse
        kernels.push_back({.kernel = key.kernel, .call = key.call, .calls = seconds.size(), .seconds = median});
    }
    return kernels;
}

}  // namespace trireme::tools
