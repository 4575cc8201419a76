// The time: seconds since some moment in the past, never going back. Of the wall, or of the simulator in a
// program that it runs.
#pragma once

namespace trireme::device {

double now_seconds();

// In a simulation all ranks share one process and one thread, and work takes the time that it is charged.
bool time_is_simulated();

// Takes so many seconds, at whatever clock: by the wall, sleeps; in a simulation, computes on this rank's
// device, which draws the power of the clock that is set.
void spend_seconds(double seconds);

// Takes so many seconds in which the device does nothing.
void rest_seconds(double seconds);

}  // namespace trireme::device
