// Sets the clock of a device between the kernels of a stream.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "trireme/device/clock_gate.hpp"
#include "trireme/device/clocked_device.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/device/wait.hpp"
#include "trireme/device/worker.hpp"

namespace trireme::device {

// On a GPU, kernels are queued long before the GPU executes them. A change of the clock is therefore queued,
// too: when the GPU reaches it, a thread sets the clock. The thread sets all requested clocks in order. A
// simulated device has its new clock at once.
class ClockSetter {
public:
    // The thread leaves at least `min_seconds` between two changes. It changes nothing after `gate` is closed;
    // without a gate, clocks may always be set.
    explicit ClockSetter(std::shared_ptr<ClockedDevice> device, double min_seconds = 0,
                         std::optional<ClockGate> gate = std::nullopt);
    ~ClockSetter();  // drops the requests whose clocks are not set yet

    // Sets the clock of the kernels that are launched in `stream` from now on. Before the first call, the
    // device has its highest clock. Throws BugError if the device does not list the clock, and ResourceError if
    // an earlier request has failed.
    void set_clock(int mhz, Stream& stream);
    // Sets the highest clock if a lower one is set, and waits until all requested clocks are set. Throws
    // ResourceError if a request has failed.
    void restore_clock(Stream& stream);
    // Waits until the kernels of `stream` have finished and all requested clocks are set. Throws as
    // restore_clock().
    void wait(Stream& stream);

    // Makes a request to set the clock. The thread waits until the returned function is called, in any thread;
    // these functions are called in the order of the requests. They neither block nor use the device.
    std::function<void()> request(int mhz);
    // Waits until all requested clocks are set.
    void wait_for_requests(const WaitPolicy& wait_policy);

private:
    struct Semaphore;

    const ClockState& find_state(int mhz) const;
    bool wait_for_interval();
    void execute(int mhz);

    std::shared_ptr<ClockedDevice> device_;
    std::vector<ClockState> clocks_;
    double min_seconds_;
    std::optional<ClockGate> gate_;
    int requested_mhz_;                   // of the last request; at first the highest clock
    std::shared_ptr<Semaphore> reached_;  // counts the requests that the GPU has reached
    std::mutex mutex_;                    // guards changes of is_ending_
    std::condition_variable ending_changed_;
    std::atomic<bool> is_ending_ = false;
    double last_change_;                          // time; used by the thread only
    std::optional<Worker::JobId> last_job_ = {};  // sets the clock of the last request
    Worker::JobId finished_jobs_ = 0;             // number of jobs for which wait_for_requests() has waited
    Worker worker_;
};

}  // namespace trireme::device
