// Replaces split backwards by unsplit backwards where splitting saves no time.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/program_clock.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::schedule {

// Returns the programs with split backwards replaced by unsplit ones, except where this increases the duration
// of the programs. Only an input half that is directly followed by its weight half is replaced. An unsplit
// backward needs less memory than the halves, but its gradient is sent later. Tests at most `attempts` changes
// of the programs. Backwards that are not tested stay split.
std::vector<Program> join_halves(const std::vector<Program>& programs, ProgramClock& clock,
                                 std::size_t attempts);

}  // namespace trireme::schedule
