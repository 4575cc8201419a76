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

// Measures the time since the wait began, without times in which this process was not scheduled.
class Waited {
public:
    double seconds() {
        constexpr double longest_turn = 0.1;  // seconds between two polls of a process that is scheduled
        const double now = now_seconds();
        seconds_ += std::min(now - std::exchange(last_, now), longest_turn);
        return seconds_;
    }

private:
    double last_ = now_seconds();
    double seconds_ = 0;
};

void tell(const Patience& patience, const std::string& stall) {
    if (patience.lookout != nullptr) return patience.lookout->tell(stall);
    throw ResourceError(cat(stall, "; a rank is dead or stuck, or --stall-timeout is too short"));
}

}  // namespace

void wait_until(const std::function<bool()>& is_ready, const Patience& patience,
                const std::function<std::string()>& what) {
    constexpr double yield_seconds = 1e-3;
    constexpr std::chrono::microseconds nap{20};
    if (is_ready()) return;
    Waited waited;
    double stall_seconds = patience.stall_seconds;
    while (!is_ready()) {
        if (patience.meanwhile != nullptr) (*patience.meanwhile)();
        const double seconds = waited.seconds();
        if (seconds > stall_seconds) {
            tell(patience, cat("waited ", stall_seconds, " s for ", what()));
            stall_seconds += patience.stall_seconds;
        }
        if (seconds < yield_seconds) {
            sched_yield();
        } else {
            if (patience.lookout != nullptr) patience.lookout->look(seconds);
            std::this_thread::sleep_for(nap);
        }
    }
}

}  // namespace trireme::device
