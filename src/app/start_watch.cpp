#include "app/start_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "app/failure.hpp"

namespace trireme::app {
namespace {

constexpr double stalls_to_start = 10;
constexpr double max_seconds = 1e6;  // what a clock can count

[[noreturn]] void leave(double seconds) {
    const Failure failure{ExitCode::resource,
                          cat("MPI has not started within ", seconds,
                              " s (ten times --stall-timeout): a process of this job has not joined it; start "
                              "every rank with the same command line")};
    std::cerr << block(failure) << std::flush;
    std::_Exit(static_cast<int>(failure.code));
}

}  // namespace

StartWatch::StartWatch(double stall_seconds) {
    const double seconds = std::min(stalls_to_start * stall_seconds, max_seconds);
    observer_ = std::thread([has_started = has_started_.get_future(), seconds] {
        const auto state = has_started.wait_for(std::chrono::duration<double>(seconds));
        if (state == std::future_status::timeout) leave(seconds);
    });
}

StartWatch::~StartWatch() {
    has_started_.set_value();
    observer_.join();
}

}  // namespace trireme::app
