// The wait loop for messages and for GPU work. Between polls the loop yields the core; after a millisecond it
// sleeps instead. There may be more ranks than cores, so a rank that spins could occupy the core of the rank
// for which it waits.
#pragma once

#include <functional>
#include <string>

namespace trireme::device {

// Functions that wait_until() calls. The functions may throw an exception to end the wait; otherwise the wait
// continues.
struct WaitObserver {
    // Called between polls, after the first millisecond, with the duration of the wait so far. During long
    // computations, Communicator::progress() calls on_poll(0).
    std::function<void(double seconds_waited)> on_poll;
    // Called with the message "waited 60 s for ..." each time another `stall_seconds` have passed.
    std::function<void(const std::string& stall)> on_stall;
};

// The actions of a wait between polls and in a stall. A wait stalls when it takes longer than `stall_seconds`.
struct WaitPolicy {
    // Each time this number of seconds has passed, the wait calls observer->on_stall(). Without an observer,
    // the wait throws ResourceError instead.
    double stall_seconds = 60;
    // True if the caller catches the ResourceError of a stall and continues without the awaited message. Used
    // only in a simulation, where ranks normally block. If true, the rank polls, because the simulator ends
    // blocked ranks when it detects a deadlock.
    bool expects_stall = false;
    // `between_polls` is called between polls. `observer` and `between_polls` may be null, and must outlive all
    // copies of the policy.
    const WaitObserver* observer = nullptr;
    const std::function<void()>* between_polls = nullptr;
};

// Calls `is_ready` until it returns true. `what` returns a description of the awaited event for the message of
// a stall. Time in which this process is not scheduled does not count as waiting time, because the awaited
// event may have happened during that time. In a simulation, time passes only within `is_ready`.
void wait_until(const std::function<bool()>& is_ready, const WaitPolicy& wait_policy,
                const std::function<std::string()>& what);

}  // namespace trireme::device
