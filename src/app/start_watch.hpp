// A time limit for the start of MPI.
#pragma once

#include <future>
#include <thread>

namespace trireme::app {

// MPI_Init waits without a limit for processes of the job that never call it: one that prints --help, or a
// command that uses no MPI. If this object still exists after ten times `stall_seconds` (a launcher may take
// long to start all processes), it says so and ends the process with exit code 3.
class StartWatch {
public:
    explicit StartWatch(double stall_seconds);
    ~StartWatch();
    StartWatch(const StartWatch&) = delete;
    StartWatch& operator=(const StartWatch&) = delete;

private:
    std::promise<void> has_started_;
    std::thread observer_;
};

}  // namespace trireme::app
