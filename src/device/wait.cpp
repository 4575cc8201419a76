#include "trireme/device/wait.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::device {
namespace {

// Measures the time since the wait began, without the times in which this process was not scheduled.
class WaitTimer {
public:
    double seconds() {
        // In an interval longer than this number of seconds, the process was not scheduled.
        constexpr double max_poll_interval = 0.1;
        const double now = now_seconds();
        seconds_ += std::min(now - std::exchange(last_poll_, now), max_poll_interval);
        return seconds_;
    }

private:
    double last_poll_ = now_seconds();
    double seconds_ = 0;
};

void report_stall(const WaitPolicy& wait_policy, const std::string& stall) {
    if (wait_policy.observer != nullptr) return wait_policy.observer->on_stall(stall);
    throw ResourceError(cat(stall, "; a rank is dead or stuck, or --stall-timeout is too short"));
}

}  // namespace

void wait_until(const std::function<bool()>& is_ready, const WaitPolicy& wait_policy,
                const std::function<std::string()>& what) {
    constexpr double yield_seconds = 1e-3;
    constexpr std::chrono::microseconds sleep_time{20};
    if (is_ready()) return;
    WaitTimer timer;
    double stall_seconds = wait_policy.stall_seconds;
    while (!is_ready()) {
        if (wait_policy.between_polls != nullptr) (*wait_policy.between_polls)();
        const double seconds = timer.seconds();
        if (seconds > stall_seconds) {
            report_stall(wait_policy, cat("waited ", stall_seconds, " s for ", what()));
            stall_seconds += wait_policy.stall_seconds;
        }
        if (seconds < yield_seconds) {
            sched_yield();
        } else {
            if (wait_policy.observer != nullptr) wait_policy.observer->on_poll(seconds);
            std::this_thread::sleep_for(sleep_time);
        }
    }
}

}  // namespace trireme::device
