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

// The caller constructs at most one StopSignals per process, before the program starts any other thread.
//
// The object starts a thread that waits for SIGUSR1, SIGTERM, SIGINT and SIGHUP. These signals then no longer
// end the process, except that a second SIGINT ends the process at once. SIGHUP stays ignored if it was ignored
// before (nohup).
class StopSignals {
public:
    StopSignals();
    ~StopSignals();  // restores the earlier handlers
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    // Installs the handlers again, in case a library has replaced them. Must be called by the thread that
    // constructed this object.
    void install_handlers();

    // Returns the first signal that has arrived, one of signal_numbers; 0 if none.
    int first_signal() const { return first_signal_; }

    static constexpr std::array<int, 4> signal_numbers{SIGUSR1, SIGTERM, SIGINT, SIGHUP};

private:
    friend class SignalCallback;

    bool catches(std::size_t index) const;  // index in signal_numbers
    sigset_t make_caught_set() const;
    void listen();
    std::array<struct sigaction, signal_numbers.size()> previous_actions_{};
    sigset_t previous_mask_{};
    std::atomic<int> first_signal_ = 0;
    std::atomic<bool> should_end_ = false;
    std::mutex mutex_;
    std::list<std::function<void()>> callbacks_;  // one per living SignalCallback
    std::thread listener_;
};

// Registers a callback for the first signal. The thread that waits for signals calls the callback as soon as
// the signal arrives, whatever other threads are doing. If a signal arrived earlier, the constructor calls the
// callback.
class SignalCallback {
public:
    SignalCallback(StopSignals& signals, std::function<void()> callback);
    ~SignalCallback();  // waits until a running callback has returned
    SignalCallback(const SignalCallback&) = delete;
    SignalCallback& operator=(const SignalCallback&) = delete;

private:
    StopSignals& signals_;
    std::list<std::function<void()>>::iterator callback_;
};

}  // namespace trireme::device
