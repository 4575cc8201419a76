// Writes trace.json of a run: a timeline of all ranks in the trace event format, which Chrome and Perfetto
// display.
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

// Throws ConfigError if the run, which has `steps` steps, ends before the first step that `traced` selects.
void check_traced_steps(device::TracedSteps traced, std::size_t steps);

// A comparison of a rank's clock with the clock of rank 0, in seconds.
struct ClockReading {
    double at = 0;          // time of the reading, by the rank's own clock
    double ahead = 0;       // the rank's clock minus rank 0's clock, with an error of at most round_trip / 2
    double round_trip = 0;  // duration of the message exchange
};

// Collective over `control`, which has all ranks of the job. `now` is this rank's clock.
ClockReading compare_clocks(comm::Communicator& control,
                            const std::function<double()>& now = device::now_seconds);

// Converts times of a rank's clock to seconds after `origin`, a time of rank 0's clock. The rank's clock was
// compared with rank 0's clock twice.
struct ClockLine {
    ClockReading first, last;
    double origin = 0;

    double operator()(double time) const;  // interpolates the clocks' difference linearly between the readings
};

// Returns the names and events of a rank as JSON objects, separated by commas. `team_index` is the rank's index
// in its team. The events include arrows from sends to the passes that read the messages.
std::string to_json(const device::Trace& trace, int rank, int team_index, const std::string& host,
                    const ClockLine& clock_line);

// The tracing of one rank.
class Tracing {
public:
    // Collective over `control` if any step is traced. `control` must outlive this object.
    Tracing(device::TracedSteps steps, comm::Communicator& control);

    device::Trace* trace() { return &trace_; }
    void begin_step(std::size_t step, std::size_t step_in_segment);  // like Trace::begin_step()
    void set_plan(const plan::Plan& plan);                           // plan of the current and later steps

    // Collective over `control`. Rank 0 writes trace.json to `folder`, or trace-N.json if trace.json exists,
    // where N is the first traced step. No-op if no step was traced.
    void write(const std::filesystem::path& folder, const std::string& host);

private:
    std::string format_head() const;

    comm::Communicator& control_;
    ClockReading first_reading_;
    double origin_time_ = 0;  // first reading of rank 0's clock, which is time 0 in the file
    device::Trace trace_;
    device::TracedSteps traced_steps_;     // steps traced so far
    int team_index_ = 0;                   // index of this rank in its team
    std::optional<plan::Plan> last_plan_;  // on rank 0: plan of the last traced step
    std::vector<std::string> plan_texts_;  // on rank 0: plans of all traced steps, as JSON
};

}  // namespace trireme::rank
