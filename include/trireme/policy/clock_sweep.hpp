// EnvPipe's sweep (Choi et al., 2023): measures the costs of passes at one clock after the other, from the
// highest clock down.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trireme/plan/clock_costs.hpp"

namespace trireme::policy {

inline constexpr std::size_t sweep_steps_per_clock = 6;

// Returns the mean of the values that lie within one standard deviation of the mean of all; the mean of all if
// there are at most three. There must be at least one.
double average_typical(const std::vector<double>& values);

// Returns the costs at a clock, each averaged over the steps that were measured at this clock.
plan::ClockCost average_costs(const std::vector<plan::ClockCost>& steps);

// Returns the clock that the sweep measures next: the first of list_candidate_clocks() that is not measured.
// Returns nothing if all are measured, or if the joules of a step have risen at each of the last five clocks.
std::optional<int> find_next_clock(const plan::ReplicaCosts& costs);

// Returns the number of steps of a sweep that measures all clocks. `clocks` has the clocks of each device.
std::size_t count_sweep_steps(const std::vector<std::vector<int>>& clocks);

}  // namespace trireme::policy
