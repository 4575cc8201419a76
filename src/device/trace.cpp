#include "trireme/device/trace.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::device {

const char* to_string(TraceLane lane) {
    switch (lane) {
        case TraceLane::step:
            return "steps";
        case TraceLane::compute:
            return "compute";
        case TraceLane::messages:
            return "messages";
        case TraceLane::state:
            return "state on its way";
        case TraceLane::checkpoint:
            return "checkpoint";
        case TraceLane::kernels:
            return "kernels";
    }
    throw BugError(cat("unknown trace lane ", static_cast<int>(lane)));
}

// Allocates memory before the first step, so that no step waits for an allocation.
Trace::Trace(TracedSteps steps, std::size_t max_events) : steps_(steps), max_events_(max_events) {
    if (steps.last == 0) return;
    events_.reserve(max_events);
    memory_samples_.reserve(max_events);
}

void Trace::begin_step(std::size_t step, std::size_t index_in_segment) {
    step_ = step;
    segment_first_step_ = step - index_in_segment;
    is_on_.store(steps_.contains(step), std::memory_order_relaxed);
}

void Trace::add(TraceEvent event) {
    const std::lock_guard lock(mutex_);
    if (events_.size() == max_events_) {
        ++dropped_events_;
    } else {
        events_.push_back(std::move(event));
    }
}

std::vector<TraceEvent> Trace::events() const {
    const std::lock_guard lock(mutex_);
    return events_;
}

std::size_t Trace::count_dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_events_;
}

void Trace::add_memory() {
    if (time_is_simulated()) return;
    const TraceMemorySample now{.seconds = now_seconds(), .bytes = read_resident_bytes()};
    const std::lock_guard lock(mutex_);
    if (memory_samples_.size() < max_events_) memory_samples_.push_back(now);
}

std::vector<TraceMemorySample> Trace::memory_samples() const {
    const std::lock_guard lock(mutex_);
    return memory_samples_;
}

void Trace::add_clock(int mhz) {
    const std::lock_guard lock(mutex_);
    if (clock_changes_.size() < max_events_) clock_changes_.push_back({.seconds = now_seconds(), .mhz = mhz});
}

std::vector<TraceClockChange> Trace::clock_changes() const {
    const std::lock_guard lock(mutex_);
    return clock_changes_;
}

void TraceSpan::begin(Trace& trace, TraceEvent event) {
    trace_ = &trace;
    event_ = std::move(event);
    if (event_->step == 0) event_->step = trace.step();
    event_->begin = now_seconds();
}

void TraceSpan::end() {
    event_->end = now_seconds();
    const bool is_compute = event_->lane == TraceLane::compute;
    trace_->add(std::move(*event_));
    if (is_compute) trace_->add_memory();
}

std::function<void()> make_traced_job(Trace* trace, TraceLane lane, const char* name,
                                      std::function<void()> job) {
    if (trace == nullptr || !trace->is_on()) return job;
    return [trace, lane, name, step = trace->step(), job = std::move(job)] {
        const double begin = now_seconds();
        job();
        trace->add({.lane = lane, .name = name, .begin = begin, .end = now_seconds(), .step = step});
    };
}

}  // namespace trireme::device
