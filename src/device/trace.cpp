#include "trireme/device/trace.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::device {

const char* name_of(TraceLane lane) {
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
    throw BugError(cat("lane without a name: ", static_cast<int>(lane)));
}

// Allocates memory before the first step, so that no step waits for it.
Trace::Trace(TracedSteps steps, std::size_t most_events) : steps_(steps), most_events_(most_events) {
    if (steps.last == 0) return;
    events_.reserve(most_events);
    memory_.reserve(most_events);
}

void Trace::begin_step(std::size_t step, std::size_t in_stretch) {
    step_ = step;
    first_ = step - in_stretch;
    is_on_.store(steps_.contain(step), std::memory_order_relaxed);
}

void Trace::add(TraceEvent event) {
    const std::lock_guard lock(mutex_);
    if (events_.size() == most_events_) {
        ++left_out_;
    } else {
        events_.push_back(std::move(event));
    }
}

std::vector<TraceEvent> Trace::events() const {
    const std::lock_guard lock(mutex_);
    return events_;
}

std::size_t Trace::left_out() const {
    const std::lock_guard lock(mutex_);
    return left_out_;
}

void Trace::add_memory() {
    if (time_is_simulated()) return;
    const TraceMemory now{.at = now_seconds(), .bytes = resident_bytes()};
    const std::lock_guard lock(mutex_);
    if (memory_.size() < most_events_) memory_.push_back(now);
}

std::vector<TraceMemory> Trace::memory() const {
    const std::lock_guard lock(mutex_);
    return memory_;
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

std::function<void()> traced(Trace* trace, TraceLane lane, const char* name, std::function<void()> job) {
    if (trace == nullptr || !trace->is_on()) return job;
    return [trace, lane, name, step = trace->step(), job = std::move(job)] {
        const double begin = now_seconds();
        job();
        trace->add({.lane = lane, .name = name, .begin = begin, .end = now_seconds(), .step = step});
    };
}

}  // namespace trireme::device
