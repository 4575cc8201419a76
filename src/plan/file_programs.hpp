// Programs from a file: checks them and sorts them by team.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::plan {

// Returns one program per team. `programs` has one program per team, or one per rank that is not idle, in
// ascending order of ranks; in the second case, the ranks of a team must have equal programs. If each team has
// one rank, the order is ambiguous: the result is the one in which each team must execute what its program
// says. Throws ConfigError, naming the file `place`, for any other number of programs; for different programs
// within a team; for a micro-batch without a forward or backward pass in a stage, or with the backward pass
// first; and for micro-batches or weights that are too many steps away.
schedule::Phases order_by_team(const schedule::Phases& programs, const std::vector<layout::Team>& teams,
                               const schedule::PipelineShape& shape, const std::string& place);

// True if the programs have speculative updates, i.e. VALIDATE instructions. Throws ConfigError, naming
// `place`, if only some of their updates are validated.
bool validates_updates(const schedule::Phases& programs, const std::string& place);

// Returns the forward passes of one step and their messages, for evaluations. If `phases` can be proved, so can
// the result.
schedule::Phases extract_forwards(const schedule::Phases& phases, const schedule::PipelineShape& shape);

}  // namespace trireme::plan
