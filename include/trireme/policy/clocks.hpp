// Clocks at which devices need little energy, and which do not change too often.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "trireme/schedule/instruction.hpp"

namespace trireme::policy {

// Returns the clocks to try, in MHz: the highest one, and the clocks nearest to 90 MHz, 180 MHz and so on below
// it, down to the lowest clock. `mhz` lists the clocks of a device, highest first.
std::vector<int> list_candidate_clocks(const std::vector<int>& mhz);

// Returns, per device, the candidate at which the joules of a whole step are least; of equal ones, the highest
// clock. `joules` is indexed by [candidate][device].
std::vector<std::size_t> find_best_clocks(const std::vector<std::vector<double>>& joules);

// Returns the seconds of a pass at a clock.
using PassSeconds = std::function<double(const schedule::Instruction& pass, int mhz)>;

// Returns the passes of a team in the outer envelope of EnvPipe (Choi et al., 2023), which keep the highest
// clock: all passes of the last stage, and in other stages the first forward and the last backward. If only
// other passes were slower, and their stages had time to wait, the step would not take longer. If a rank is
// slow, its stage takes the place of the last stage.
std::vector<schedule::Instruction> list_envelope(const schedule::Program& program, bool is_last_stage);

// Facts that decide how many extra forwards a stage executes in EnvPipe's schedule.
struct WarmUpFacts {
    double backward_seconds = 0;  // of a micro-batch at the highest clock
    double forward_seconds = 0;   // of a micro-batch at the clock of most passes
    int max_extra = 0;            // for which there are micro-batches and memory; may be negative
};

// Returns, per stage, the forwards that EnvPipe's schedule executes before the first backward, in addition to
// those of 1F1B. The stage has time for them while the first backward comes back from the last stage. No stage
// has more of them than the stage before it, and the last stage has none.
std::vector<int> compute_extra_forwards(const std::vector<WarmUpFacts>& stages);

// Returns the program with fewer CLOCKs. A run is a sequence of passes at one clock. A run that takes less than
// `min_seconds` joins the neighbour whose clock is nearest, and both get the higher of their clocks. So no pass
// gets a lower clock, and no run is shorter than `min_seconds` unless all passes have one clock. In a program
// with CLOCKs, the first pass must follow one.
schedule::Program join_short_runs(const schedule::Program& program, double min_seconds,
                                  const PassSeconds& find_seconds);

}  // namespace trireme::policy
