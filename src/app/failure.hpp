// What the program says when it cannot go on, and what it ends with.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "trireme/base/error.hpp"

namespace trireme::app {

struct Failure {
    ExitCode code = ExitCode::bug;
    std::string message;  // what happened, the numbers, what to do
};

// `without_memory` says what to do where there is none left.
Failure failure_of(const std::exception_ptr& error,
                   std::string_view without_memory = "end other programs, or use a machine with more");

// One block for standard error. `place` says who failed, as "rank 3 (node7)"; empty where nobody else could
// have.
std::string block(const Failure& failure, const std::string& place = "");

}  // namespace trireme::app
