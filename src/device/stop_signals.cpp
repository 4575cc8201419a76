#include "trireme/device/stop_signals.hpp"

#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

namespace trireme::device {
namespace {

// The signal handler. It runs only in a thread that a library started before the signals were blocked. It
// blocks the signal in that thread and sends it to the process again, so that the listener thread receives it.
void forward_to_process(int signal, siginfo_t*, void* context) {
    sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
    kill(getpid(), signal);
}

// Ends the process as the signal does by default.
[[noreturn]] void end_process_by(int signal) {
    std::signal(signal, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    raise(signal);
    _exit(128 + signal);
}

}  // namespace

StopSignals::StopSignals() {
    pthread_sigmask(SIG_SETMASK, nullptr, &previous_mask_);
    for (std::size_t i = 0; i < signal_numbers.size(); ++i)
        sigaction(signal_numbers[i], nullptr, &previous_actions_[i]);
    install_handlers();
    listener_ = std::thread([this] { listen(); });
}

StopSignals::~StopSignals() {
    should_end_ = true;
    pthread_kill(listener_.native_handle(), signal_numbers.front());
    listener_.join();
    for (std::size_t i = 0; i < signal_numbers.size(); ++i)
        sigaction(signal_numbers[i], &previous_actions_[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

// Returns false for SIGHUP if the process ignored SIGHUP before. `nohup` ignores SIGHUP so that a program
// outlives its terminal.
bool StopSignals::catches(std::size_t index) const {
    return signal_numbers[index] != SIGHUP || previous_actions_[index].sa_handler != SIG_IGN;
}

sigset_t StopSignals::make_caught_set() const {
    sigset_t set;
    sigemptyset(&set);
    for (std::size_t i = 0; i < signal_numbers.size(); ++i)
        if (catches(i)) sigaddset(&set, signal_numbers[i]);
    return set;
}

void StopSignals::install_handlers() {
    const sigset_t set = make_caught_set();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    struct sigaction action {};
    action.sa_sigaction = forward_to_process;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_mask = set;
    for (std::size_t i = 0; i < signal_numbers.size(); ++i)
        if (catches(i)) sigaction(signal_numbers[i], &action, nullptr);
}

void StopSignals::listen() {
    const sigset_t set = make_caught_set();
    for (bool was_interrupted = false;;) {
        int signal = 0;
        sigwait(&set, &signal);
        if (should_end_) return;
        if (signal == SIGINT && was_interrupted) end_process_by(signal);
        was_interrupted = was_interrupted || signal == SIGINT;
        int no_signal = 0;
        // With the lock, a callback is called either here or by SignalCallback's constructor, never by both.
        const std::scoped_lock lock(mutex_);
        if (!first_signal_.compare_exchange_strong(no_signal, signal)) continue;
        for (const std::function<void()>& callback : callbacks_) callback();
    }
}

SignalCallback::SignalCallback(StopSignals& signals, std::function<void()> callback) : signals_(signals) {
    const std::scoped_lock lock(signals_.mutex_);
    callback_ = signals_.callbacks_.insert(signals_.callbacks_.end(), std::move(callback));
    if (signals_.first_signal_ != 0) (*callback_)();
}

SignalCallback::~SignalCallback() {
    const std::scoped_lock lock(signals_.mutex_);
    signals_.callbacks_.erase(callback_);
}

}  // namespace trireme::device
