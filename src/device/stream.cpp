#include "trireme/device/stream.hpp"

#include "trireme/device/clock_setter.hpp"
#include "trireme/device/gpu_times.hpp"

namespace trireme::device {

MemorySpace Stream::memory_space() const {
    if (is_ghost()) return MemorySpace::ghost;
    return is_on_gpu() ? MemorySpace::gpu : MemorySpace::host;
}

void Stream::synchronize() {
    if (gpu_times) gpu_times->synchronize(ledger, matmuls);
}

double Stream::predict_clock_delay(const Cost& cost, double seconds) const {
    const KernelTimePredictor& predict = predict_seconds ? predict_seconds : expect_seconds;
    if (clock == 1 || !predict) return 0;
    return seconds * (1 - predict(cost, 1) / predict(cost, clock));
}

void Stream::restore_clock() {
    if (clock_setter) clock_setter->restore_clock(*this);
}

}  // namespace trireme::device
