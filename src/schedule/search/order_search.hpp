// Moves single instructions of programs that nearly are as short as they can be.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/program_clock.hpp"

namespace trireme::schedule {

// The shortest that is found in `attempts` moves of a few places within a team, each of which is taken back
// where it makes the programs longer; `programs` themselves where nothing shorter is found. The shape's bounds
// on activations are kept. The same moves are drawn every time.
std::vector<Program> with_moved_work(const std::vector<Program>& programs, const PipelineShape& shape,
                                     ProgramClock& clock, std::size_t attempts);

}  // namespace trireme::schedule
