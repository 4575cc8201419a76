// Local search: moves single instructions of programs that are already close to the shortest.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/program_clock.hpp"

namespace trireme::schedule {

// Returns the shortest programs found in `attempts` random moves, or `programs` if none are shorter. A move
// shifts an instruction by a few positions within its team, and is undone if it makes the programs longer. The
// shape's bounds on activations are kept. The same moves are drawn every time.
std::vector<Program> with_moved_work(const std::vector<Program>& programs, const PipelineShape& shape,
                                     ProgramClock& clock, std::size_t attempts);

}  // namespace trireme::schedule
