// Writes trace.json of a run: a timeline of all ranks in the format of Chrome and Perfetto.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::rank {

// Throws ConfigError if the run has no such steps.
void check_traced_steps(device::TracedSteps traced, std::size_t steps);

// A comparison of a rank's clock with that of rank 0, in seconds.
struct ClockReading {
    double at = 0;          // time of the reading, by the rank's own clock
    double ahead = 0;       // how far it is ahead of rank 0's clock, with an error of at most half a round trip
    double round_trip = 0;  // duration of the message exchange
};

// Collective over `control`, which has all ranks of the job. `now` is this rank's clock.
ClockReading read_clock(comm::Communicator& control, const std::function<double()>& now = device::now_seconds);

// Converts times of a rank's clock, which was read twice, to seconds after `origin`, a time of rank 0's clock.
struct ClockLine {
    ClockReading first, last;
    double origin = 0;

    double operator()(double time) const;  // interpolates linearly between the readings
};

// Returns the names and events of a rank as JSON objects, separated by commas. `place` is the rank's position
// in its team. Arrows lead from messages between stages to the passes that read them.
std::string json_of(const device::Trace& trace, int rank, int place, const std::string& host,
                    const ClockLine& line);

// The tracing of one rank.
class Tracing {
public:
    // Collective over `control` if any step is traced. `control` must outlive this object.
    Tracing(device::TracedSteps steps, comm::Communicator& control);

    device::Trace* trace() { return &trace_; }
    void begin_step(std::size_t step, std::size_t in_stretch);  // see Trace
    void made_with(const plan::Plan& plan);                     // sets the plan of this step and later ones

    // Collective over `control`. Rank 0 writes trace.json to `folder`; if this file exists, it writes
    // trace-N.json, where N is the first traced step. No-op if no step was traced.
    void write(const std::filesystem::path& folder, const std::string& host);

private:
    std::string head() const;

    comm::Communicator& control_;
    ClockReading first_;
    double origin_ = 0;  // first reading of rank 0's clock
    device::Trace trace_;
    device::TracedSteps traced_;      // steps traced so far
    int place_ = 0;                   // position of this rank in its team
    std::optional<plan::Plan> plan_;  // on rank 0: plan of the last traced step
    std::vector<std::string> plans_;  // on rank 0: plans of all traced steps, as JSON
};

}  // namespace trireme::rank
