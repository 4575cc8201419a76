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
    // When the first of `signals` arrives, prints the hint to standard error, because a launcher that has lost
    // a rank sends SIGTERM and kills this process soon afterwards. `signals` must outlive this object; if null,
    // nothing is printed.
    explicit Continuation(device::StopSignals* signals);

    // Sets the run directory and the number of steps after which its newest checkpoint was saved; 0 means that
    // there is no checkpoint. Thread-safe.
    void set_checkpoint(const std::filesystem::path& run_directory, std::uint64_t step);

    // Returns `reason`, followed by the hint if the run has a checkpoint.
    std::string append_hint(const std::string& reason) const;

private:
    std::string make_hint() const;  // empty if there is no checkpoint
    void print_hint(int signal) const;

    mutable std::mutex mutex_;
    std::string hint_;
    std::optional<device::SignalCallback> signal_call_;
};

}  // namespace trireme::run
