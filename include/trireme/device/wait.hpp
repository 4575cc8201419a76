// The one way to wait for a message. Polls, yields the core between polls, and sleeps only after a millisecond:
// ranks may outnumber cores, and a rank that spins keeps the one it waits for from running.
#pragma once

#include <functional>
#include <string>

namespace trireme {

// Who is told of stalls. Both may throw.
struct Lookout {
    std::function<void()> look;                          // now and then, in long waits and long computations
    std::function<void(const std::string& stall)> tell;  // "waited 60 s for ..."
};

struct Patience {
    double stall_seconds = 60;         // then something is broken: ResourceError
    bool stall_is_answer = false;      // the one who waits goes on without what did not come
    const Lookout* lookout = nullptr;  // outlives whoever has this patience
};

// Returns when `is_ready()` does so. `what` says what is waited for, for the message after a stall. Simulated
// time does not pass here, only in `is_ready()`.
void wait_until(const std::function<bool()>& is_ready, const Patience& patience,
                const std::function<std::string()>& what);

}  // namespace trireme
