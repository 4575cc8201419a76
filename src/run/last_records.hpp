// The records that a run writes after its last step.
#pragma once

#include <cstddef>
#include <string>

#include "run/saving.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/records/console.hpp"
#include "trireme/records/figures.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme {

// Memory of one rank.
struct RankBytes {
    std::size_t grown = 0;
    std::size_t predicted = 0;
};

// Collective over `control`. Adds the memory of the fullest rank, and what checkpoints cost this rank.
void add_costs(Figures& figures, const Saving& saving, const RankBytes& own, Communicator& control);

// Called on rank 0 when the last checkpoint is on disk or lost; `lost` is the reason, empty if it is on disk. A
// run that stopped early and can be resumed also leaves a file `stopped`.
void write_last_records(Figures figures, const std::string& lost, RunDirectory& directory, Console& console);

// Rank 0 records and prints why the plan stayed after `step` steps, although a policy looked for another one.
// An empty `why` is not recorded.
void note_no_change(std::size_t step, const std::string& why, RunDirectory& directory, Console& console);

}  // namespace trireme
