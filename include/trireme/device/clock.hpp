// The clock of a rank: wall time, or simulated time in a program that the simulator runs.
#pragma once

namespace trireme::device {

// Seconds since an arbitrary moment in the past; monotonic.
double now_seconds();

// True in a simulation. There, all ranks share one process
// and one thread, and work takes the time it is charged.
bool time_is_simulated();

// Keeps the device busy for `seconds`, independent of the clock state. In wall time it sleeps; in a simulation
// it computes on this rank's device, which draws the power of the clock that is set.
void spend_seconds(double seconds);

// Lets `seconds` pass with an idle device.
void rest_seconds(double seconds);

}  // namespace trireme::device
