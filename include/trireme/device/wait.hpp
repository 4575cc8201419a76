// The wait loop for messages and for GPU work. It polls, yields the core between polls, and sleeps between
// polls after a millisecond: there may be more ranks than cores, and a rank that spins could occupy the core of
// the rank for which it waits.
#pragma once

#include <functional>
#include <string>

namespace trireme::device {

// Functions that wait_until() calls. They may throw an exception to end the wait; otherwise the wait continues.
struct WaitObserver {
    // Called between polls, after the first millisecond, with the duration of the wait so far.
    // Communicator::progress() calls it with 0 during long computations.
    std::function<void(double seconds_waited)> on_poll;
    // Called with the message "waited 60 s for ..." each time another `stall_seconds` have passed.
    std::function<void(const std::string& stall)> on_stall;
};

// The actions of a wait: between polls, and in a stall, that is, if the awaited event does not come in time.
struct WaitPolicy {
    // After this time the wait calls observer->on_stall, or throws ResourceError if there is no observer.
    double stall_seconds = 60;
    // True if the caller catches the ResourceError of a stall and continues without the awaited message. Used
    // only in a simulation: the rank then polls, because a rank that blocks would be ended when the simulator
    // detects a deadlock.
    bool expects_stall = false;
    // `observer` and `between_polls` may be null, and must outlive all copies of the policy.
    const WaitObserver* observer = nullptr;
    const std::function<void()>* between_polls = nullptr;
};

// Calls `is_ready` until it returns true. `what` describes what the caller waits for, in the message of a
// stall. Time in which this process is not scheduled does not count, because the awaited event may have
// happened during that time. In a simulation, time passes only within `is_ready`.
void wait_until(const std::function<bool()>& is_ready, const WaitPolicy& wait_policy,
                const std::function<std::string()>& what);

}  // namespace trireme::device
