// Backwards that need not be divided.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/program_clock.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::schedule {

// Makes whole backwards of halves that follow one another at once, wherever the programs take no longer with
// them: a whole one keeps less between its halves, but its gradient leaves later. Measures at most `attempts`
// times.
std::vector<Program> with_joined_halves(const std::vector<Program>& programs, ProgramClock& clock,
                                        std::size_t attempts);

}  // namespace trireme::schedule
