// The clocks of this rank's device and what it consumes: of a simulated device as its cluster describes it; of
// one that runs by the wall nothing is known yet.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trireme/device/stream.hpp"

namespace trireme::device {

struct ClockState {
    double mhz = 0;
    double speed = 1;  // of the highest clock's

    friend bool operator==(const ClockState&, const ClockState&) = default;
};

// The highest first; none: the clock cannot be set.
std::vector<ClockState> clock_states();

// The number of the state that is set; 0 where there are none.
std::size_t clock_state();

// Sets one of clock_states(). What a stream takes to compute follows only by set_clock().
void set_clock_state(std::size_t state);

// Sets it, and has the kernels of `stream` take as long as it makes them.
void set_clock(std::size_t state, Stream& stream);

// What the device has consumed since some moment in the past; none: nothing measures it.
std::optional<double> consumed_joules();

}  // namespace trireme::device
