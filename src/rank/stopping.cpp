#include "trireme/rank/stopping.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::rank {
namespace {

// Seconds before the end of the job that are reserved for MPI's shutdown and for differences of the nodes'
// clocks.
constexpr double reserve_of_job = 30;
// Minimum seconds assumed for a checkpoint, because the duration of the first one is unknown.
constexpr double least_saving = 5;

std::optional<double> end_of(const SlurmJob& job, double now) {
    const std::optional<double> left = seconds_left(job);
    if (!left) return std::nullopt;
    return now + *left - reserve_of_job;
}

records::StopReason reason_of(int signal) {
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

std::string words_of(const records::Stop& stop, const config::RunConfig& config) {
    switch (stop.reason) {
        case records::StopReason::none:
            return "";
        case records::StopReason::time_limit:
            return cat("--time-limit ", duration_text(config.run.time_limit), " is near");
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
    throw BugError("a reason to stop without words");
}

Stopping::Stopping(const config::RunConfig& config, const device::StopSignals* signals)
    : signals_(signals), end_of_job_(end_of(config.job, device::now_seconds())), last_(device::now_seconds()) {
    if (config.run.time_limit > 0) end_of_limit_ = last_ + config.run.time_limit;
}

records::StopReason Stopping::wish(int steps_to_stop) {
    const double now = device::now_seconds();
    longest_step_ = std::max(longest_step_, now - last_);
    last_ = now;
    const records::StopReason asked = reason_of(signals_ == nullptr ? 0 : signals_->received());
    if (asked != records::StopReason::none) return asked;
    if (end_of_job_ && is_time_up(*end_of_job_, steps_to_stop)) return records::StopReason::end_of_job;
    if (end_of_limit_ && is_time_up(*end_of_limit_, steps_to_stop)) return records::StopReason::time_limit;
    return records::StopReason::none;
}

void Stopping::saved_in(double seconds) { longest_saving_ = std::max(longest_saving_, seconds); }

bool Stopping::is_time_up(double end, int steps_to_stop) const {
    const double saving =
        device::time_is_simulated() ? longest_saving_ : std::max(least_saving, 1.5 * longest_saving_);
    return last_ + steps_to_stop * longest_step_ + saving > end;
}

}  // namespace trireme::rank
