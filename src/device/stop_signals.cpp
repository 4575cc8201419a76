#include "trireme/device/stop_signals.hpp"

#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

namespace trireme::device {
namespace {

// Signal handler. It runs only in a thread that a library started before the signals were blocked. It blocks
// the signal in that thread and sends it to the process again, where the listener thread takes it.
void pass_on(int signal, siginfo_t*, void* context) {
    sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
    kill(getpid(), signal);
}

[[noreturn]] void end_by(int signal) {
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
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_before_);
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], nullptr, &before_[i]);
    take_back();
    listener_ = std::thread([this] { listen(); });
}

StopSignals::~StopSignals() {
    is_over_ = true;
    pthread_kill(listener_.native_handle(), numbers.front());
    listener_.join();
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &before_[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

// Excludes an ignored SIGHUP: `nohup` starts programs so that they outlive their terminal.
bool StopSignals::takes(std::size_t number) const {
    return numbers[number] != SIGHUP || before_[number].sa_handler != SIG_IGN;
}

sigset_t StopSignals::set_of_taken() const {
    sigset_t set;
    sigemptyset(&set);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (takes(i)) sigaddset(&set, numbers[i]);
    return set;
}

void StopSignals::take_back() {
    const sigset_t set = set_of_taken();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_mask = set;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (takes(i)) sigaction(numbers[i], &action, nullptr);
}

void StopSignals::listen() {
    const sigset_t set = set_of_taken();
    for (bool was_interrupted = false;;) {
        int signal = 0;
        sigwait(&set, &signal);
        if (is_over_) return;
        if (signal == SIGINT && was_interrupted) end_by(signal);
        was_interrupted = was_interrupted || signal == SIGINT;
        int none = 0;
        const std::scoped_lock lock(calling_);  // either this or SignalCall's constructor calls, never both
        if (!received_.compare_exchange_strong(none, signal)) continue;
        for (const std::function<void()>& call : calls_) call();
    }
}

SignalCall::SignalCall(StopSignals& signals, std::function<void()> call) : signals_(signals) {
    const std::scoped_lock lock(signals_.calling_);
    call_ = signals_.calls_.insert(signals_.calls_.end(), std::move(call));
    if (signals_.received_ != 0) (*call_)();
}

SignalCall::~SignalCall() {
    const std::scoped_lock lock(signals_.calling_);
    signals_.calls_.erase(call_);
}

}  // namespace trireme::device
