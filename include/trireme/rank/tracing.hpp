// Writes the file trace.json of a run: a timeline of all ranks in the trace event format, which Chrome and
// Perfetto display.
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
    double round_trip = 0;  // duration of the messages to rank 0 and back
};

// Collective over `control`, which has all ranks of the job. Compares this rank's clock `now` with the clock of
// rank 0. On rank 0 and in a simulation, `ahead` and `round_trip` of the result are 0.
ClockReading compare_clocks(comm::Communicator& control,
                            const std::function<double()>& now = device::now_seconds);

// Converts times of a rank's clock to seconds after `origin`, a time of rank 0's clock.
struct ClockLine {
    ClockReading first, last;  // two comparisons of the rank's clock with rank 0's clock, the earlier one first
    double origin = 0;

    double operator()(double time) const;  // assumes that the clocks' difference changes linearly with time
};

// Returns the events of a rank as JSON objects, separated by commas. The first events name the rank and the
// rows of its timeline. The last events are arrows from sends to the passes that read the messages.
// `team_index` is the rank's index in its team.
std::string to_json(const device::Trace& trace, int rank, int team_index, const std::string& host,
                    const ClockLine& clock_line);

// The tracing of one rank.
class Tracing {
public:
    // Collective over `control` if any step is traced. `control` must outlive this object.
    Tracing(device::TracedSteps steps, comm::Communicator& control);

    device::Trace* trace() { return &trace_; }
    void begin_step(std::size_t step, std::size_t step_in_segment);  // see Trace::begin_step()
    // Called after begin_step(). Sets the plan of the current step; no-op if the step is not traced.
    void set_plan(const plan::Plan& plan);

    // Collective over `control`. Rank 0 writes trace.json to `folder`, or trace-N.json if trace.json exists,
    // where N is the first traced step. `host` is the name of this rank's node. No-op if no step was traced.
    void write(const std::filesystem::path& folder, const std::string& host);

private:
    std::string format_head() const;

    comm::Communicator& control_;
    ClockReading first_reading_;
    double origin_time_ = 0;  // time 0 of the file, which is `at` in rank 0's first_reading_
    device::Trace trace_;
    device::TracedSteps traced_steps_;     // first and last step traced so far; `last` is 0 if there is none
    int team_index_ = 0;                   // index of this rank in its team
    std::optional<plan::Plan> last_plan_;  // on rank 0: the last plan in plan_texts_
    std::vector<std::string> plan_texts_;  // on rank 0: the successive plans of the traced steps, as JSON
};

}  // namespace trireme::rank
