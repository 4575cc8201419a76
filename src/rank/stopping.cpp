#include "trireme/rank/stopping.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::rank {
namespace {

// Seconds before the end of the job that are reserved for MPI_Finalize and for differences between the clocks
// of nodes.
constexpr double job_end_reserve_seconds = 30;
// Minimum duration that is assumed for the final checkpoint. Without an earlier checkpoint, no duration is
// known.
constexpr double min_save_seconds = 5;

// Returns the end of the Slurm job minus the reserve, on the clock of now_seconds(); empty if the end is
// unknown. `now` is the current time on this clock.
std::optional<double> predict_job_end(const SlurmJob& job, double now) {
    const std::optional<double> remaining_seconds = compute_seconds_left(job);
    if (!remaining_seconds) return std::nullopt;
    return now + *remaining_seconds - job_end_reserve_seconds;
}

// `signal` is 0 if no signal has arrived.
records::StopReason find_reason(int signal) {
    switch (signal) {
        case 0:
            return records::StopReason::none;
        case SIGINT:
            return records::StopReason::interrupt;
        case SIGTERM:
            return records::StopReason::terminate;
        case SIGHUP:
            return records::StopReason::hangup;
        default:
            return records::StopReason::user_signal;
    }
}

}  // namespace

std::string describe(const records::Stop& stop, const config::RunConfig& config) {
    switch (stop.reason) {
        case records::StopReason::none:
            return "";
        case records::StopReason::time_limit:
            return cat("--time-limit ", format_duration(config.run.time_limit), " is near");
        case records::StopReason::end_of_job:
            return cat("the end of Slurm's job ", config.job.id, " is near");
        case records::StopReason::user_signal:
            return cat("SIGUSR1 came to rank ", stop.rank);
        case records::StopReason::interrupt:
            return cat("SIGINT came to rank ", stop.rank);
        case records::StopReason::terminate:
            return cat("SIGTERM came to rank ", stop.rank);
        case records::StopReason::hangup:
            return cat("SIGHUP came to rank ", stop.rank);
    }
    throw BugError("unknown reason to stop");
}

Stopping::Stopping(const config::RunConfig& config, const device::StopSignals* signals)
    : signals_(signals),
      job_end_(predict_job_end(config.job, device::now_seconds())),
      last_call_time_(device::now_seconds()) {
    if (config.run.time_limit > 0) time_limit_end_ = last_call_time_ + config.run.time_limit;
}

records::StopReason Stopping::find_stop_reason(int steps_to_stop) {
    const double now = device::now_seconds();
    max_step_seconds_ = std::max(max_step_seconds_, now - last_call_time_);
    last_call_time_ = now;
    const records::StopReason signal_reason = find_reason(signals_ == nullptr ? 0 : signals_->first_signal());
    if (signal_reason != records::StopReason::none) return signal_reason;
    if (job_end_ && is_time_up(*job_end_, steps_to_stop)) return records::StopReason::end_of_job;
    if (time_limit_end_ && is_time_up(*time_limit_end_, steps_to_stop)) return records::StopReason::time_limit;
    return records::StopReason::none;
}

void Stopping::note_save_seconds(double seconds) { max_save_seconds_ = std::max(max_save_seconds_, seconds); }

bool Stopping::is_time_up(double end_time, int steps_to_stop) const {
    // On a real file system, the final checkpoint may take longer than the earlier checkpoints.
    const double save_seconds =
        device::time_is_simulated() ? max_save_seconds_ : std::max(min_save_seconds, 1.5 * max_save_seconds_);
    return last_call_time_ + steps_to_stop * max_step_seconds_ + save_seconds > end_time;
}

}  // namespace trireme::rank
