// Makes the lines of steps.jsonl, and figures of records.
#pragma once

#include <cmath>

#include "trireme/device/clock.hpp"
#include "trireme/records/run_records.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::records {

// Returns an unset field for a value that is not finite, because JSON has no such numbers.
inline Figure omit_non_finite(double value) { return std::isfinite(value) ? Figure(value) : std::nullopt; }

inline double to_figure(std::size_t count) { return static_cast<double>(count); }

// Returns an unset field for a count of 0.
inline Figure omit_zero(std::size_t count) { return count > 0 ? Figure(to_figure(count)) : std::nullopt; }

// A simulated device reads its energy in each phase. The counter of a GPU is too slow for that.
inline bool are_phases_derived() { return !device::time_is_simulated(); }

inline const char* find_clock_name() { return device::time_is_simulated() ? "simulated" : "wall"; }

// Returns the line of a step without the hash of the plan. `peak_flops` is the peak rate of all ranks.
StepLine make_step_line(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                        double peak_flops);

}  // namespace trireme::records
