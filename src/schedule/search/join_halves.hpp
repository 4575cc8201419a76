// Replaces split backwards by unsplit ones where splitting gains no time.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/program_clock.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::schedule {

// Replaces an input half and its adjacent weight half by an unsplit backward, wherever the programs take no
// longer with it. An unsplit backward needs less memory than its halves, but its gradient is sent later.
// Computes at most `attempts` durations of changed programs.
std::vector<Program> join_halves(const std::vector<Program>& programs, ProgramClock& clock,
                                 std::size_t attempts);

}  // namespace trireme::schedule
