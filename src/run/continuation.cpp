#include "run/continuation.hpp"

#include <unistd.h>

#include <cstring>

#include "trireme/base/error.hpp"

namespace trireme::run {

Continuation::Continuation(device::StopSignals* signals) {
    if (signals != nullptr)
        signal_callback_.emplace(*signals, [this, signals] { print_hint(signals->first_signal()); });
}

void Continuation::set_checkpoint(const std::filesystem::path& run_directory, std::uint64_t step) {
    if (step == 0) return;
    const std::scoped_lock lock(mutex_);
    hint_ = cat("continue the run with --resume auto --run-dir ", run_directory.string(), " (step ", step,
                " is saved)");
}

std::string Continuation::copy_hint() const {
    const std::scoped_lock lock(mutex_);
    return hint_;
}

std::string Continuation::append_hint(const std::string& reason) const {
    const std::string hint = copy_hint();
    if (hint.empty()) return reason;
    const bool has_several_lines = reason.find('\n') != std::string::npos;
    return cat(reason, has_several_lines ? "\n  " : "; ", hint);
}

void Continuation::print_hint(int signal) const {
    const std::string hint = copy_hint();
    if (hint.empty()) return;
    const std::string message = cat("trireme: rank 0 received SIG", ::sigabbrev_np(signal),
                                    ": the run stops after its current step, with a checkpoint. "
                                    "If it is killed before that, for example because a rank has died, ",
                                    hint, "\n");
    // A failed write is ignored: it must not end the run, which can save a checkpoint.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
}

}  // namespace trireme::run
