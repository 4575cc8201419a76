// Clock states and energy of this rank's device. A simulated device has the clock states of its cluster file.
// For a real device, these functions report neither clock states nor energy; gpu_meter.hpp covers real GPUs.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trireme/device/stream.hpp"

namespace trireme::device {

struct ClockState {
    double mhz = 0;
    double speed = 1;  // fraction of the speed at the highest clock

    friend bool operator==(const ClockState&, const ClockState&) = default;
};

// Returns the clock states, highest first; empty if the clock cannot be set.
std::vector<ClockState> list_clock_states();

// Returns the index of the current clock state; 0 if the device has no clock states.
std::size_t get_clock_state();

// Selects the clock state with index `state`. Does not change the kernel times of streams, in contrast to
// set_clock().
void set_clock_state(std::size_t state);

// Selects the clock state with index `state`, and scales the simulated kernel times of `stream` accordingly.
void set_clock(std::size_t state, Stream& stream);
// Same as set_clock(), for the state with this clock in MHz. Throws BugError if there is none.
void set_clock_mhz(int mhz, Stream& stream);

// Returns the energy that the device has consumed since an arbitrary moment in the past; empty if the energy is
// not measured.
std::optional<double> read_energy_joules();

}  // namespace trireme::device
