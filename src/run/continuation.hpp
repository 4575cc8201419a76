// The hint that tells a user how to continue a run that ends early.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "trireme/device/stop_signals.hpp"

namespace trireme::run {

class Continuation {
public:
    // Prints the hint to standard error when the first of `signals` arrives. The hint cannot wait for the end
    // of the run: a launcher that has lost a rank sends SIGTERM and soon afterwards kills this process.
    // `signals` must outlive this object; if null, nothing is printed.
    explicit Continuation(device::StopSignals* signals);

    // Sets the run directory and the number of steps after which its newest checkpoint was saved. No-op if the
    // number is 0, which means that there is no checkpoint. Thread-safe.
    void set_checkpoint(const std::filesystem::path& run_directory, std::uint64_t step);

    // Returns `reason`, followed by the hint if the run has a checkpoint. Thread-safe.
    std::string append_hint(const std::string& reason) const;

private:
    std::string copy_hint() const;  // empty if there is no checkpoint
    void print_hint(int signal) const;

    mutable std::mutex mutex_;  // protects hint_
    std::string hint_;          // empty if there is no checkpoint
    // Declared last, so that it is destroyed before the members that the callback uses.
    std::optional<device::SignalCallback> signal_callback_;
};

}  // namespace trireme::run
