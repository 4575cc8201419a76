// Records what a rank did when, as events of the steps that are traced. In other steps it costs only a check.
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

// The row of the timeline in which an event is shown. Events of a lane do not overlap.
enum class TraceLane : std::uint8_t {
    step,        // whole steps
    compute,     // what occupies the rank or makes all wait: instructions, plan changes, evaluations
    messages,    // messages that are started, and waits for messages of others
    state,       // state that moves to its new rank while steps run
    checkpoint,  // the thread that writes checkpoints
    kernels,     // kernels, if requested
};
inline constexpr std::size_t trace_lanes = 6;
const char* name_of(TraceLane lane);

struct TraceEvent {
    TraceLane lane = TraceLane::compute;
    std::string name = {};
    double begin = 0;  // by now_seconds()
    double end = 0;
    std::size_t step = 0;   // step that it belongs to, from 1; TraceSpan replaces 0 by the current step
    int stage = -1;         // -1 if none
    int microbatch = -1;    // within its step; -1 if none
    std::size_t bytes = 0;  // sent, received or moved; 0 if not given
};

// Resident memory of a rank's process at some moment.
struct TraceMemory {
    double at = 0;  // by now_seconds()
    std::size_t bytes = 0;
};

// The range of steps to trace, numbered from 1; both ends are included.
struct TracedSteps {
    std::size_t first = 0;
    std::size_t last = 0;        // 0 if no step is traced
    bool shows_kernels = false;  // also records single kernels

    bool contain(std::size_t step) const { return first <= step && step <= last; }
};

class Trace {
public:
    static constexpr std::size_t usual_most_events = 65536;

    // Keeps at most `most_events` events; later ones are counted and dropped.
    explicit Trace(TracedSteps steps, std::size_t most_events = usual_most_events);

    // Later events belong to `step`, numbered from 1. `in_stretch` is its index in its segment, from 0.
    void begin_step(std::size_t step, std::size_t in_stretch);
    // True if events that begin now are recorded.
    bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
    std::size_t step() const { return step_; }
    // Converts an index in the segment, from 0, to the number of the step.
    std::size_t step_of_stretch(int step) const { return first_ + static_cast<std::size_t>(step); }

    // Thread-safe. Also accepts events that began while is_on() was true and end later.
    void add(TraceEvent event);
    std::vector<TraceEvent> events() const;  // in the order in which they ended
    std::size_t left_out() const;            // number of dropped events
    // Records the memory of the process now. No-op in a simulation, whose ranks share one process.
    void add_memory();
    std::vector<TraceMemory> memory() const;

private:
    TracedSteps steps_;
    std::size_t most_events_;
    std::atomic<bool> is_on_ = false;
    std::size_t step_ = 0;
    std::size_t first_ = 0;
    mutable std::mutex mutex_;  // guards the members below
    std::vector<TraceEvent> events_;
    std::vector<TraceMemory> memory_;
    std::size_t left_out_ = 0;
};

// An event that lasts as long as this object lives. No-op if there is no trace or it is not on.
class TraceSpan {
public:
    // `make` returns the event without its times; a step of 0 is replaced by the current one. It is called only
    // if the event is recorded.
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

// Wraps a job, which another thread may run later, so that it is recorded as an event of the current step.
std::function<void()> traced(Trace* trace, TraceLane lane, const char* name, std::function<void()> job);

}  // namespace trireme::device
