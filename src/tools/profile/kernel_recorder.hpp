// What each call of a stream's kernels took.
#pragma once

#include <map>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/plan/kernel_times.hpp"

namespace trireme::tools {

// Calls of one kernel and of equal cost are held together.
class KernelRecorder {
public:
    // Pauses at first. While it records it clears the stream's ledger, again and again. The stream outlives it.
    explicit KernelRecorder(device::Stream& stream);
    ~KernelRecorder();
    KernelRecorder(const KernelRecorder&) = delete;
    KernelRecorder& operator=(const KernelRecorder&) = delete;

    void record();  // from here on
    void pause();
    std::vector<plan::KernelProfile> medians() const;  // in the order of kernels, and of what they cost

private:
    struct Less {
        bool operator()(const plan::KernelProfile& a, const plan::KernelProfile& b) const;
    };

    void take_last();

    device::Stream& stream_;
    std::map<plan::KernelProfile, std::vector<double>, Less> seconds_;  // by kernel and call
};

}  // namespace trireme::tools
