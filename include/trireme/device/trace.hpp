// What a rank did when, for people to look at: events of the steps that are to be traced. Of other steps,
// asking is all that it costs.
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

// Where an event is shown: those of a lane come one after the other.
enum class TraceLane : std::uint8_t {
    step,        // whole steps
    compute,     // what keeps the rank busy, or everybody waiting: instructions, changes of plan, evaluations
    messages,    // messages that are started, and waits for those of others
    state,       // what travels to its new place while steps are made
    checkpoint,  // what the thread does that writes checkpoints
    kernels,     // kernels, if they are asked for
};
inline constexpr std::size_t trace_lanes = 6;
const char* name_of(TraceLane lane);

struct TraceEvent {
    TraceLane lane = TraceLane::compute;
    std::string name = {};
    double begin = 0;  // by now_seconds()
    double end = 0;
    std::size_t step = 0;   // that it belongs to, from 1
    int stage = -1;         // -1: of none
    int microbatch = -1;    // of its step; likewise
    std::size_t bytes = 0;  // that it sends, gets or moves; 0: not said
};

// The memory of a rank's process at some moment.
struct TraceMemory {
    double at = 0;  // by now_seconds()
    std::size_t bytes = 0;
};

// From 1; all of them, ends included.
struct TracedSteps {
    std::size_t first = 0;
    std::size_t last = 0;        // 0: none
    bool shows_kernels = false;  // also the single kernels

    bool contain(std::size_t step) const { return first <= step && step <= last; }
};

class Trace {
public:
    static constexpr std::size_t usual_most_events = 65536;

    // Keeps so many events at most; later ones are counted and left out.
    explicit Trace(TracedSteps steps, std::size_t most_events = usual_most_events);

    // What is done from here on is of this step, from 1, which is so far behind the first of its stretch.
    void begin_step(std::size_t step, std::size_t in_stretch);
    // Whether what begins now is noted.
    bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
    std::size_t step() const { return step_; }
    // The number of a step of the stretch, which counts its steps from 0.
    std::size_t step_of_stretch(int step) const { return first_ + static_cast<std::size_t>(step); }

    // Any thread may call it, also for what began before is_on() ended.
    void add(TraceEvent event);
    std::vector<TraceEvent> events() const;  // in the order in which they ended
    std::size_t left_out() const;
    // Notes the memory of the process now; not in a simulation, whose ranks share one process.
    void add_memory();
    std::vector<TraceMemory> memory() const;

private:
    TracedSteps steps_;
    std::size_t most_events_;
    std::atomic<bool> is_on_ = false;
    std::size_t step_ = 0;
    std::size_t first_ = 0;
    mutable std::mutex mutex_;  // of what follows
    std::vector<TraceEvent> events_;
    std::vector<TraceMemory> memory_;
    std::size_t left_out_ = 0;
};

// An event that lasts as long as this lives. Without a trace, or where none is noted, it does nothing.
class TraceSpan {
public:
    // `make` gives all of the event but its times and, if it says none, its step; called only where it is
    // noted.
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

    Trace* trace_ = nullptr;  // none: it is not noted
    std::optional<TraceEvent> event_;
};

// The same job, which another thread may do later, as an event of the step in which it is given.
std::function<void()> traced(Trace* trace, TraceLane lane, const char* name, std::function<void()> job);

}  // namespace trireme::device
