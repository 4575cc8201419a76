// The message with which a run that ends early says how it can be continued.
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
    // On the first of `signals`, a line on standard error says how the run can be continued: a launcher that
    // has lost a rank sends SIGTERM and kills this process soon after. `signals` must outlive this object; if
    // null, no line is printed.
    explicit Continuation(device::StopSignals* signals);

    // Sets the run directory and the step of its newest checkpoint; a step of 0 means that there is none.
    // Thread-safe.
    void saved(const std::filesystem::path& run_directory, std::uint64_t step);

    // Returns `reason` and, if the run has a checkpoint, how it can be continued.
    std::string after(const std::string& reason) const;

private:
    std::string words() const;  // empty if nothing is saved
    void say_at(int signal) const;

    mutable std::mutex guard_;
    std::string words_;
    std::optional<device::SignalCall> at_signal_;
};

}  // namespace trireme::run
