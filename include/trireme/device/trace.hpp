// Records the events of a rank, with their times, in the steps that are traced. In other steps an event costs
// only a check.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "trireme/device/clock.hpp"

namespace trireme::device {

// The row of the timeline in which an event is shown. Events of one lane do not overlap.
enum class TraceLane : std::uint8_t {
    step,        // whole steps
    compute,     // what the rank executes: instructions, plan changes, evaluations
    messages,    // starts of messages; waits for messages and for a checkpoint's copy of the state
    state,       // moves of optimizer state between ranks while steps run
    checkpoint,  // the thread that writes checkpoints
    kernels,     // single kernels, if requested
};
inline constexpr std::size_t trace_lanes = 6;
const char* to_string(TraceLane lane);

struct TraceEvent {
    TraceLane lane = TraceLane::compute;
    std::string name = {};
    double begin = 0;  // time by now_seconds()
    double end = 0;
    std::size_t step = 0;   // number of the step, from 1; TraceSpan replaces 0 by the current step
    int stage = -1;         // -1 if none
    int microbatch = -1;    // index within the step, from 0; -1 if none
    std::size_t bytes = 0;  // sent, received or moved; 0 if not given
};

// Resident memory of the process of a rank at one time.
struct TraceMemorySample {
    double seconds = 0;  // time by now_seconds()
    std::size_t bytes = 0;
};

// A change of the clock of the rank's device.
struct TraceClockChange {
    double seconds = 0;  // time by now_seconds()
    int mhz = 0;
};

// The steps to trace: `first` to `last`, both included, numbered from 1.
struct TracedSteps {
    std::size_t first = 0;
    std::size_t last = 0;        // 0 if no step is traced
    bool shows_kernels = false;  // single kernels are recorded, too

    bool contains(std::size_t step) const { return first <= step && step <= last; }
};

class Trace {
public:
    static constexpr std::size_t default_max_events = 65536;

    // Makes a trace that keeps the first `max_events` events. The trace drops later events and counts them.
    explicit Trace(TracedSteps steps, std::size_t max_events = default_max_events);

    // Begins step number `step`, from 1. `index_in_segment` is the index of this step, from 0, in its segment
    // (the steps between two drains of the pipeline). Later events belong to this step.
    void begin_step(std::size_t step, std::size_t index_in_segment);
    // Returns true if events that begin now are recorded.
    bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
    std::size_t step() const { return step_; }
    // Converts the index of a step in the current segment, from 0, to its number in the run.
    std::size_t find_step_number(int step) const {
        return segment_first_step_ + static_cast<std::size_t>(step);
    }

    // Adds an event, even if is_on() has become false since the event began. Thread-safe.
    void add(TraceEvent event);
    std::vector<TraceEvent> events() const;  // in the order in which they ended
    std::size_t count_dropped() const;       // number of dropped events
    // Records the resident memory of the process now. No-op in a simulation, whose ranks share one process.
    void add_memory();
    std::vector<TraceMemorySample> memory_samples() const;
    void add_clock(int mhz);  // records a change of the clock now
    std::vector<TraceClockChange> clock_changes() const;

private:
    TracedSteps steps_;
    std::size_t max_events_;
    std::atomic<bool> is_on_ = false;
    std::size_t step_ = 0;
    std::size_t segment_first_step_ = 0;
    mutable std::mutex mutex_;  // guards the members below
    std::vector<TraceEvent> events_;
    std::vector<TraceMemorySample> memory_samples_;
    std::vector<TraceClockChange> clock_changes_;
    std::size_t dropped_events_ = 0;
};

// A scope guard that records an event from its construction to its destruction. No-op if `trace` is null or not
// on.
class TraceSpan {
public:
    // `make` returns the event without its times; if the step of the event is 0, TraceSpan sets the current
    // step. `make` is called only if the event is recorded.
    template <class Make>
    TraceSpan(Trace* trace, const Make& make) {
        if (trace != nullptr && trace->is_on()) begin(*trace, make());
    }
    TraceSpan(Trace* trace, TraceLane lane, const char* name)
        : TraceSpan(trace, [&] { return TraceEvent{.lane = lane, .name = name}; }) {}
    TraceSpan(const TraceSpan&) = delete;
    TraceSpan& operator=(const TraceSpan&) = delete;
    ~TraceSpan() {
        if (trace_ != nullptr) end();
    }

    void set_bytes(std::size_t bytes) {
        if (trace_ != nullptr) event_->bytes = bytes;
    }

private:
    void begin(Trace& trace, TraceEvent event);
    void end();

    Trace* trace_ = nullptr;  // null if the event is not recorded
    std::optional<TraceEvent> event_;
};

// Returns a function that runs `job`, possibly in another thread, and records the execution as an event. The
// event belongs to the step in which make_traced_job() is called. Returns `job` itself if this step is not
// traced or `trace` is null.
std::function<void()> make_traced_job(Trace* trace, TraceLane lane, const char* name,
                                      std::function<void()> job);

}  // namespace trireme::device
