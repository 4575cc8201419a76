#include "trireme/device/wait.hpp"

#include <sched.h>

#include <chrono>
#include <thread>

#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"

namespace trireme {

void wait_until(const std::function<bool()>& is_ready, const Patience& patience,
                const std::function<std::string()>& what) {
    constexpr double yield_seconds = 1e-3;
    constexpr std::chrono::microseconds nap{20};
    if (is_ready()) return;
    const double begin = now_seconds();
    while (!is_ready()) {
        const double waited = now_seconds() - begin;
        if (waited > patience.stall_seconds) {
            const std::string stall = cat("waited ", patience.stall_seconds, " s for ", what());
            if (patience.lookout != nullptr) patience.lookout->tell(stall);
            throw ResourceError(cat(stall, "; a rank is dead or stuck, or --stall-timeout is too short"));
        }
        if (waited < yield_seconds) {
            sched_yield();
        } else {
            if (patience.lookout != nullptr) patience.lookout->look();
            std::this_thread::sleep_for(nap);
        }
    }
}

}  // namespace trireme
