// Joins the halves of backwards that need not be split.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/program_clock.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::schedule {

// Replaces adjacent halves by a whole backward, wherever the programs take no longer with it. A whole backward
// keeps less between its halves, but its gradient leaves later. Computes at most `attempts` durations of
// changed programs.
std::vector<Program> with_joined_halves(const std::vector<Program>& programs, ProgramClock& clock,
                                        std::size_t attempts);

}  // namespace trireme::schedule
