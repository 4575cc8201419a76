// Local search: shortens programs that are already nearly optimal by moving single instructions.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/program_clock.hpp"

namespace trireme::schedule {

// Returns the shortest programs found in `attempts` random moves, or `programs` if no shorter ones are found. A
// move shifts an instruction by a few positions within the program of its team. A move is undone if it makes
// the programs longer or exceeds shape.max_activations. A move past an instruction on the same micro-batch, in
// the same stage or in a neighbouring stage, is not tried. All calls draw the same random numbers.
std::vector<Program> improve_order(const std::vector<Program>& programs, const PipelineShape& shape,
                                   ProgramClock& clock, std::size_t attempts);

}  // namespace trireme::schedule
