// The one way to wait for a message. Polls, yields the core between polls, and sleeps only after a millisecond:
// ranks may outnumber cores, and a rank that spins keeps the one it waits for from running.
#pragma once

#include <functional>
#include <string>

namespace trireme::device {

// Who is told of stalls, and may throw; otherwise a wait goes on.
struct Lookout {
    // Now and then, in waits that have lasted so long, and in long computations: 0.
    std::function<void(double seconds_waited)> look;
    // "waited 60 s for ...": whenever so much time has gone by.
    std::function<void(const std::string& stall)> tell;
};

struct Patience {
    double stall_seconds = 60;     // then something is broken: ResourceError, or what the lookout makes of it
    bool stall_is_answer = false;  // the one who waits goes on without what did not come
    const Lookout* lookout = nullptr;                  // outlives whoever has this patience, as does
    const std::function<void()>* meanwhile = nullptr;  // what is done again and again while waiting
};

// Returns when `is_ready()` does so. `what` says what is waited for, for the message after a stall. Time in
// which this process does not get to run does not count: others may have done what it waits for. Simulated time
// does not pass here, only in `is_ready()`.
void wait_until(const std::function<bool()>& is_ready, const Patience& patience,
                const std::function<std::string()>& what);

}  // namespace trireme::device
