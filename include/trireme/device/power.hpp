// Clock states and energy of this rank's device. A simulated device has those of its cluster file; a real
// device has none here (gpu_meter.hpp serves real GPUs).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trireme/device/stream.hpp"

namespace trireme::device {

struct ClockState {
    double mhz = 0;
    double speed = 1;  // as a fraction of the speed at the highest clock

    friend bool operator==(const ClockState&, const ClockState&) = default;
};

// Clock states, highest first; empty if the clock cannot be set.
std::vector<ClockState> clock_states();

// Index of the current state; 0 if there are none.
std::size_t clock_state();

// Selects one of clock_states(). Kernel times of streams change only with set_clock().
void set_clock_state(std::size_t state);

// Selects a state and scales the simulated kernel times of `stream` with it.
void set_clock(std::size_t state, Stream& stream);

// Energy that the device has consumed since an arbitrary moment in the past; empty if it is not measured.
std::optional<double> consumed_joules();

}  // namespace trireme::device
