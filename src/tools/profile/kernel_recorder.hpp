// Records the duration of each kernel call of a stream.
#pragma once

#include <map>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/plan/kernel_times.hpp"

namespace trireme::tools {

// Groups calls of the same kernel with equal costs.
class KernelRecorder {
public:
    // Starts paused. While recording, clears the stream's ledger repeatedly. The stream
    // must outlive this object.
    explicit KernelRecorder(device::Stream& stream);
    ~KernelRecorder();
    KernelRecorder(const KernelRecorder&) = delete;
    KernelRecorder& operator=(const KernelRecorder&) = delete;

    void record();  // starts recording
    void pause();
    std::vector<plan::KernelProfile> medians() const;  // per kernel and cost, sorted by both

private:
    struct Less {
        bool operator()(const plan::KernelProfile& a, const plan::KernelProfile& b) const;
    };

    void take_last();

    device::Stream& stream_;
    std::map<plan::KernelProfile, std::vector<double>, Less> seconds_;  // by kernel and call
};

}  // namespace trireme::tools
