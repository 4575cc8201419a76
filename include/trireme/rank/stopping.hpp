// Decides whether a run should end before its last step, because of a signal or a time limit.
#pragma once

#include <optional>
#include <string>

#include "trireme/config/config.hpp"
#include "trireme/device/stop_signals.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {

// Returns the reason in words: "SIGUSR1 came to rank 2", "--time-limit 3h50m is near".
std::string words_of(const records::Stop& stop, const config::RunConfig& config);

class Stopping {
public:
    // Constructed when a run begins, because time limits count from then. `signals` may be null, and must
    // outlive this object.
    Stopping(const config::RunConfig& config, const device::StopSignals* signals);

    // Called after each step. Returns the reason for which this rank requests a stop. `steps_to_stop` is the
    // number of steps before the job would stop if this rank requested it only after the next step.
    records::StopReason wish(int steps_to_stop);

    // Reports the time that a checkpoint took until it was on disk.
    void saved_in(double seconds);

private:
    bool is_time_up(double end, int steps_to_stop) const;

    const device::StopSignals* signals_;
    std::optional<double> end_of_limit_;  // in the time of now_seconds()
    std::optional<double> end_of_job_;    // in the time of now_seconds()
    double last_ = 0;                     // time of the last call of wish()
    double longest_step_ = 0;             // including the time between two steps
    double longest_saving_ = 0;
};

}  // namespace trireme::rank
