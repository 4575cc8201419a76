// The single wait loop for messages and the GPU. It polls, yields the core between polls, and sleeps only after
// a millisecond. Ranks may outnumber cores, and a spinning rank would keep the one it waits for from running.
#pragma once

#include <functional>
#include <string>

namespace trireme::device {

// Callbacks of waits. They may throw to end the wait; otherwise the wait continues.
struct Lookout {
    // Called between polls with the duration of the wait so far, and with 0 during long computations.
    std::function<void(double seconds_waited)> look;
    // Called with "waited 60 s for ..." each time another `stall_seconds` have passed.
    std::function<void(const std::string& stall)> tell;
};

struct Patience {
    double stall_seconds = 60;         // then calls `lookout`, or throws ResourceError without one
    bool stall_is_answer = false;      // the caller expects stalls and continues without the message
    const Lookout* lookout = nullptr;  // must outlive all copies; also `meanwhile`
    const std::function<void()>* meanwhile = nullptr;  // called between polls
};

// Returns once `is_ready()` is true. `what` describes the event for the message of a stall. Time in which this
// process is not scheduled does not count, since what it waits for may have come then. Simulated time passes
// only in `is_ready()`.
void wait_until(const std::function<bool()>& is_ready, const Patience& patience,
                const std::function<std::string()>& what);

}  // namespace trireme::device
