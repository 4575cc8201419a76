// Records the duration of each kernel call of a stream.
#pragma once

#include <map>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/plan/kernel_times.hpp"

namespace trireme::tools {

// Collects the durations of kernel calls. Calls of the same kernel with equal costs form a group.
class KernelRecorder {
public:
    // Records nothing until record() is called. While it records, the stream's ledger is cleared repeatedly.
    // The stream must outlive this object.
    explicit KernelRecorder(device::Stream& stream);
    ~KernelRecorder();
    KernelRecorder(const KernelRecorder&) = delete;
    KernelRecorder& operator=(const KernelRecorder&) = delete;

    void record();                                             // starts to record
    void pause();                                              // stops recording
    std::vector<plan::KernelProfile> compute_medians() const;  // one per group, sorted by kernel and cost

private:
    struct Less {
        bool operator()(const plan::KernelProfile& a, const plan::KernelProfile& b) const;
    };

    void collect_last_call();

    device::Stream& stream_;
    std::map<plan::KernelProfile, std::vector<double>, Less> seconds_;  // by kernel and call
};

}  // namespace trireme::tools
