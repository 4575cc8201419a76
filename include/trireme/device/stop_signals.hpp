// Signals that ask a process to stop, left for it to look at when it has finished what it is doing.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

namespace trireme {

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

    // What has to be done at once when the first comes, whatever the process is about: done by a thread of its
    // own, or here where one has come already. In place of what was to be done before; none: nothing. When it
    // returns, what was to be done before is over.
    void call_at_first(std::function<void()> call);

    static constexpr std::array<int, 4> numbers{SIGUSR1, SIGTERM, SIGINT, SIGHUP};

private:
    bool takes(std::size_t number) const;
    sigset_t set_of_taken() const;
    void listen();
    void call();

    std::array<struct sigaction, numbers.size()> before_{};
    sigset_t mask_before_{};
    std::atomic<int> received_ = 0;
    std::atomic<bool> is_over_ = false;
    std::mutex calling_;
    std::function<void()> call_;
    std::thread listener_;
};

}  // namespace trireme
