// The clock of a rank: wall time, or simulated time in a program that the simulator runs.
#pragma once

namespace trireme::device {

// Returns the seconds since an arbitrary moment in the past; monotonic.
double now_seconds();

// Returns true in a simulation. Simulated ranks share one process and one thread, and their work takes the
// simulated time that is passed to busy_for().
bool time_is_simulated();

// Keeps this rank's device busy for `seconds`. In wall time, the rank sleeps. In a simulation, the device draws
// power that depends on its clock state. `seconds` does not depend on the clock state.
void busy_for(double seconds);

// Lets `seconds` pass with an idle device.
void idle_for(double seconds);

}  // namespace trireme::device
