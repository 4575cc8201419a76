// Clocks in programs.
#pragma once

#include <functional>

#include "trireme/schedule/phases.hpp"

namespace trireme::schedule {

// Returns `phases` with other CLOCKs: each pass has the clock that `find_mhz(team, pass)` returns, in MHz. A
// CLOCK stands only where the clock changes, before the first pass of the body or prologue, and before the
// first pass after a STEP or VALIDATE. If `find_mhz` returns 0 for all passes of a team, its program has none.
Phases set_clocks(Phases phases, const std::function<int(int team, const Instruction& pass)>& find_mhz);

// True if a program of the phases has a CLOCK.
bool sets_clocks(const Phases& phases);

}  // namespace trireme::schedule
