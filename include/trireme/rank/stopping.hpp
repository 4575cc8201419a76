// Decides whether a run should end before its last step, because of a signal or a time limit.
#pragma once

#include <optional>
#include <string>

#include "trireme/config/config.hpp"
#include "trireme/device/stop_signals.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {

// Describes the reason of a stop: "SIGUSR1 came to rank 2", "--time-limit 3h50m is near".
std::string describe(const records::Stop& stop, const config::RunConfig& config);

class Stopping {
public:
    // Must be constructed when a run begins, because --time-limit counts from then. `signals` may be null;
    // otherwise it must outlive this object.
    Stopping(const config::RunConfig& config, const device::StopSignals* signals);

    // Called after each step. Returns the reason for which this rank requests that the job stops, or
    // StopReason::none. `steps_to_stop` is the number of further steps that the job would execute if this rank
    // waited with the request until the next call.
    records::StopReason find_stop_reason(int steps_to_stop);

    // Sets aside time for a final checkpoint: `seconds` is how long a checkpoint took until it was on disk.
    void note_save_seconds(double seconds);

private:
    bool is_time_up(double end_time, int steps_to_stop) const;

    const device::StopSignals* signals_;
    std::optional<double> time_limit_end_;  // in the time of now_seconds()
    std::optional<double> job_end_;         // end of the Slurm job minus a reserve, by the same clock
    double last_call_time_ = 0;             // time of the last call of find_stop_reason()
    double max_step_seconds_ = 0;           // including the time between two steps
    double max_save_seconds_ = 0;
};

}  // namespace trireme::rank
