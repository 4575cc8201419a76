// Whether a run should end before its last step: somebody asks it to, or its time is up.
#pragma once

#include <optional>
#include <string>

#include "trireme/config/config.hpp"
#include "trireme/device/stop_signals.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {

// "SIGUSR1 came to rank 2", "--time-limit 3h50m is near".
std::string words_of(const records::Stop& stop, const config::RunConfig& config);

class Stopping {
public:
    // When a run begins. `signals` outlives it; none: nobody sends any.
    Stopping(const config::RunConfig& config, const device::StopSignals* signals);

    // What this rank says behind each step. `steps_to_stop`: that are taken before the job stops if this one
    // says nothing, and asks behind the next step.
    records::StopReason wish(int steps_to_stop);

    // From the step that was saved until it was on disk.
    void saved_in(double seconds);

private:
    bool is_time_up(double end, int steps_to_stop) const;

    const device::StopSignals* signals_;
    std::optional<double> end_of_limit_;  // by now_seconds()
    std::optional<double> end_of_job_;
    double last_ = 0;            // when it was asked last
    double longest_step_ = 0;    // with what lay between it and the one before
    double longest_saving_ = 0;  // that has been seen
};

}  // namespace trireme::rank
