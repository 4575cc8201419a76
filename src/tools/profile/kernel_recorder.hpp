// Records the duration of each kernel call of a stream.
#pragma once

#include <map>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/plan/kernel_times.hpp"

namespace trireme::tools {

// Collects the durations of kernel calls. Calls of the same kernel with equal matmul shape, bytes and flops
// form a group.
class KernelRecorder {
public:
    // Makes a recorder that records nothing until record() is called. While the recorder records, it clears the
    // stream's ledger at each kernel call and uses stream.predict_seconds. The stream must outlive this object.
    explicit KernelRecorder(device::Stream& stream);
    ~KernelRecorder();
    KernelRecorder(const KernelRecorder&) = delete;
    KernelRecorder& operator=(const KernelRecorder&) = delete;

    void record();  // starts or resumes recording
    void pause();   // stops recording
    // Returns the median duration of each group, sorted by kernel, matmul shape, bytes and flops. Omits groups
    // whose calls access no memory, and groups whose median is 0.
    std::vector<plan::KernelProfile> compute_medians() const;

private:
    struct Less {  // the order of groups; ignores `calls` and `seconds`
        bool operator()(const plan::KernelProfile& a, const plan::KernelProfile& b) const;
    };

    void collect_last_call();

    device::Stream& stream_;
    std::map<plan::KernelProfile, std::vector<double>, Less> seconds_;  // durations of the calls, by group
};

}  // namespace trireme::tools
