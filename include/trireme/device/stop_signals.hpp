// Signals that ask a process to stop, left for it to look at when it has finished what it is doing.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace trireme::device {

// One in a process, made before any other thread that the program starts.
//
// A thread waits for SIGUSR1, SIGTERM, SIGINT and SIGHUP, which end nothing from here on. A second SIGINT ends
// the process at once, as it would have without this. SIGHUP stays ignored if it was ignored before (nohup).
class StopSignals {
public:
    StopSignals();
    ~StopSignals();  // the signals do again what they did before
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    // A library may have taken them since, for this thread or for all. Called by the thread that made this.
    void take_back();

    // The first that came, one of `numbers`; 0: none.
    int received() const { return received_; }

    static constexpr std::array<int, 4> numbers{SIGUSR1, SIGTERM, SIGINT, SIGHUP};

private:
    friend class SignalCall;

    bool takes(std::size_t number) const;
    sigset_t set_of_taken() const;
    void listen();
    std::array<struct sigaction, numbers.size()> before_{};
    sigset_t mask_before_{};
    std::atomic<int> received_ = 0;
    std::atomic<bool> is_over_ = false;
    std::mutex calling_;
    std::list<std::function<void()>> calls_;  // of the signal calls that there are
    std::thread listener_;
};

// A call that is made at once when the first signal comes, whatever the process is doing. The thread that waits
// for signals makes it, or the constructor if a signal has come already.
class SignalCall {
public:
    SignalCall(StopSignals& signals, std::function<void()> call);
    ~SignalCall();  // waits for a call that is being made
    SignalCall(const SignalCall&) = delete;
    SignalCall& operator=(const SignalCall&) = delete;

private:
    StopSignals& signals_;
    std::list<std::function<void()>>::iterator call_;
};

}  // namespace trireme::device
