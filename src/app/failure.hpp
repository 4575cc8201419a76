// What the program says when it cannot go on, and what it ends with.
#pragma once

#include <exception>
#include <string>

#include "trireme/base/error.hpp"

namespace trireme::app {

struct Failure {
    ExitCode code = ExitCode::bug;
    std::string message;  // what happened, the numbers, what to do
};

Failure failure_of(const std::exception_ptr& error);

// One block for standard error. `place` says who failed, as "rank 3 (node7)"; empty where nobody else could
// have.
std::string block(const Failure& failure, const std::string& place = "");

}  // namespace trireme::app
