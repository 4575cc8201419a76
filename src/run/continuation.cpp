#include "run/continuation.hpp"

#include <unistd.h>

#include <cstring>

#include "trireme/base/error.hpp"

namespace trireme::run {

Continuation::Continuation(device::StopSignals* signals) {
    if (signals != nullptr) at_signal_.emplace(*signals, [this, signals] { say_at(signals->received()); });
}

void Continuation::saved(const std::filesystem::path& run_directory, std::uint64_t step) {
    if (step == 0) return;
    const std::scoped_lock lock(guard_);
    words_ = cat("continue the run with --resume auto --run-dir ", run_directory.string(), " (step ", step,
                 " is saved)");
}

std::string Continuation::words() const {
    const std::scoped_lock lock(guard_);
    return words_;
}

std::string Continuation::after(const std::string& reason) const {
    const std::string way_on = words();
    if (way_on.empty()) return reason;
    const bool has_lines = reason.find('\n') != std::string::npos;
    return cat(reason, has_lines ? "\n  " : "; ", way_on);
}

void Continuation::say_at(int signal) const {
    const std::string way_on = words();
    if (way_on.empty()) return;
    const std::string line = cat("trireme: rank 0 received SIG", ::sigabbrev_np(signal),
                                 ": the run stops after its current step, with a checkpoint. "
                                 "If it is killed before that, for example because a rank has died, ",
                                 way_on, "\n");
    // A failure is ignored: the run reports by other means that its output is lost.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace trireme::run
