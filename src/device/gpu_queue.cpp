#include "trireme/device/gpu.hpp"

namespace trireme {

void GpuQueue::wait() const {
    wait_until([this] { return is_idle(); }, patience_, [] { return "its GPU to do all that it was given"; });
}

void GpuQueue::wait_until_over(const GpuMoment& moment) const {
    wait_until([&] { return moment.is_over(); }, patience_, [] { return "its GPU to do what it was given"; });
}

}  // namespace trireme
