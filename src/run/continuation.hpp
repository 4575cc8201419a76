// The last words of a run that ends too early: how it can be continued.
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
    // A line on standard error says at the first of `signals` how the run can be continued, because a launcher
    // that has lost a rank sends SIGTERM and kills this process soon after. `signals` outlive this; null means
    // no line.
    explicit Continuation(device::StopSignals* signals);

    // Tells where the run's checkpoints are and which step the newest one has; 0 means that there is none.
    // Other threads may ask meanwhile.
    void saved(const std::filesystem::path& run_directory, std::uint64_t step);

    // The reason why the run ends and, if it has a checkpoint, how it can be continued.
    std::string after(const std::string& reason) const;

private:
    std::string words() const;  // empty: nothing is saved
    void say_at(int signal) const;

    mutable std::mutex guard_;
    std::string words_;
    std::optional<device::SignalCall> at_signal_;
};

}  // namespace trireme::run
