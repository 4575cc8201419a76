// A step of a trace as a picture: what each rank did when, and what was predicted.
#pragma once

#include <string>

#include "report/trace_records.hpp"
#include "trireme/report/schedule_svg.hpp"

namespace trireme::report {

// That of the steps which has most to show: behind a change of plan, else beside a checkpoint, else the last.
std::size_t shown_step(const RunTrace& trace);

// As it was measured, time in milliseconds from its first event on: ranks in the order of their teams, idle
// ones behind them.
Timeline measured(const RunTrace& trace, std::size_t step);

// Its programs, with the mean time of each kind of instruction of each stage, and messages that take none.
// Only where the step stands by itself.
Timeline predicted(const TracedPlan& plan, const Timeline& measured);

// HTML: picture and words; empty where nothing was traced.
std::string drawn(const RunTrace& trace);

}  // namespace trireme::report
