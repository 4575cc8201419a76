// trace.json of a run: what all ranks did when, in the format that Chrome and Perfetto show.
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

// Throws ConfigError where the run has no such steps.
void check_traced_steps(device::TracedSteps traced, std::size_t steps);

// How a rank's clock was found to stand.
struct ClockReading {
    double at = 0;          // by the rank's own clock, seconds
    double ahead = 0;       // of rank 0's, so many seconds; wrong by half a round trip at most
    double round_trip = 0;  // of the message that it was read by
};

// Collective over `control`, which has all ranks of the job. `now` is this rank's clock.
ClockReading read_clock(comm::Communicator& control, const std::function<double()>& now = device::now_seconds);

// From the clock of a rank, which was read twice, to seconds since a moment of rank 0's clock.
struct ClockLine {
    ClockReading first, last;
    double origin = 0;

    double operator()(double time) const;  // between the readings it is taken to go evenly
};

// The events of a rank, its place among the ranks of its team, as JSON objects with commas between, its names
// before them. Arrows lead from messages between stages to the passes that read them.
std::string json_of(const device::Trace& trace, int rank, int place, const std::string& host,
                    const ClockLine& line);

// Of one rank.
class Tracing {
public:
    // Collective over `control`, if there is anything to trace. `control` outlives it.
    Tracing(device::TracedSteps steps, comm::Communicator& control);

    device::Trace* trace() { return &trace_; }
    void begin_step(std::size_t step, std::size_t in_stretch);  // see Trace
    void made_with(const plan::Plan& plan);                     // this step and those behind it

    // Collective over `control`. Rank 0 writes the file to `folder`: trace.json or, where one is there already,
    // trace-7.json, 7 being the first step that it shows. Nothing where no step was traced.
    void write(const std::filesystem::path& folder, const std::string& host);

private:
    std::string head() const;

    comm::Communicator& control_;
    ClockReading first_;
    double origin_ = 0;  // the first reading of rank 0
    device::Trace trace_;
    device::TracedSteps traced_;      // so far
    int place_ = 0;                   // of this rank in its team
    std::optional<plan::Plan> plan_;  // of the last of them; on rank 0
    std::vector<std::string> plans_;  // of all, as JSON; on rank 0
};

}  // namespace trireme::rank
