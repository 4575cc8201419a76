// Catches the signals that ask a process to stop, so that the process can stop at a safe moment.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace trireme::device {

// At most one per process, constructed before the program starts any other thread.
//
// A thread waits for SIGUSR1, SIGTERM, SIGINT and SIGHUP, which no longer end the process. A second SIGINT does
// end it at once. SIGHUP stays ignored if it was ignored before (nohup).
class StopSignals {
public:
    StopSignals();
    ~StopSignals();  // restores the earlier handlers
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    // Installs the handlers again, in case a library has replaced them. Must be called by the thread that
    // constructed this.
    void take_back();

    // The first signal that came, one of `numbers`; 0 if none.
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
    std::list<std::function<void()>> calls_;  // one per living SignalCall
    std::thread listener_;
};

// A callback for the first signal. The thread that waits for signals calls it at once, whatever the process is
// doing. If a signal has come already, the constructor calls it.
class SignalCall {
public:
    SignalCall(StopSignals& signals, std::function<void()> call);
    ~SignalCall();  // waits until a running callback has returned
    SignalCall(const SignalCall&) = delete;
    SignalCall& operator=(const SignalCall&) = delete;

private:
    StopSignals& signals_;
    std::list<std::function<void()>>::iterator call_;
};

}  // namespace trireme::device
