// Signals that ask a process to stop, left for it to look at when it has finished what it is doing.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

namespace trireme {

// One in a process, made before any other thread that the program starts.
//
// A thread waits for SIGUSR1, SIGTERM and SIGINT, which end nothing from here on. A second SIGINT ends the
// process at once, as it would have without this.
class StopSignals {
public:
    StopSignals();
    ~StopSignals();  // the signals do again what they did before
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    // A library may have taken them since, for this thread or for all. Called by the thread that made this.
    void take_back();

    // The first that came: SIGUSR1, SIGTERM or SIGINT; 0: none.
    int received() const { return received_; }

    static constexpr std::array<int, 3> numbers{SIGUSR1, SIGTERM, SIGINT};

private:
    void listen();

    std::array<struct sigaction, numbers.size()> before_{};
    sigset_t mask_before_{};
    std::atomic<int> received_ = 0;
    std::atomic<bool> is_over_ = false;
    std::thread listener_;
};

}  // namespace trireme
