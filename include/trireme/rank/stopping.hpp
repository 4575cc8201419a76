// Decides whether a run should end before its last step: because of a signal, --time-limit, or the end of the
// Slurm job.
#pragma once

#include <optional>
#include <string>

#include "trireme/config/config.hpp"
#include "trireme/device/stop_signals.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {

// Returns the reason of a stop as text, for example "SIGUSR1 came to rank 2" or "--time-limit 3h50m is near".
// Returns an empty text for StopReason::none.
std::string describe(const records::Stop& stop, const config::RunConfig& config);

class Stopping {
public:
    // Must be constructed when a run begins, because --time-limit counts from the construction. `signals` may
    // be null; otherwise it must outlive this object.
    Stopping(const config::RunConfig& config, const device::StopSignals* signals);

    // Called after each step. Returns the reason for which this rank requests that the job stops, or
    // StopReason::none. `steps_to_stop` is the number of further steps that the job would execute if this rank
    // waited with the request until the next call.
    records::StopReason find_stop_reason(int steps_to_stop);

    // Called after a checkpoint that was on disk after `seconds` seconds. The run then stops early enough for a
    // final checkpoint of this duration.
    void note_save_seconds(double seconds);

private:
    // True if `steps_to_stop` more steps and a final checkpoint might end after `end_time`.
    bool is_time_up(double end_time, int steps_to_stop) const;

    const device::StopSignals* signals_;
    // All times are by now_seconds().
    std::optional<double> time_limit_end_;  // empty without --time-limit
    std::optional<double> job_end_;         // end of the Slurm job minus a reserve; empty if unknown
    double last_call_time_ = 0;             // last call of find_stop_reason(); initially the construction
    double max_step_seconds_ = 0;           // longest time between two calls of find_stop_reason()
    double max_save_seconds_ = 0;           // longest time until a checkpoint was on disk
};

}  // namespace trireme::rank
