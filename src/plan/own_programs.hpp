// Programs from a file, brought into the order of teams.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::plan {

// Returns one program per team. `programs` has one per team, or one per working rank in ascending order; those
// of a team's ranks must be equal. If there are as many teams as ranks and both orders are possible, the one is
// taken in which each team executes what its program says. Throws ConfigError, naming `place`, for any other
// number of programs; for different programs within a team; for missing compute instructions of a micro-batch,
// or a backward before its forward; and for micro-batches or weights that are too many steps away.
schedule::Phases programs_of_teams(const schedule::Phases& programs, const std::vector<layout::Team>& teams,
                                   const schedule::PipelineShape& shape, const std::string& place);

// True if the programs validate their updates. Throws ConfigError, naming `place`, if they validate only some.
bool validates(const schedule::Phases& programs, const std::string& place);

// Returns the forwards of one step and their messages. They can be proved if `phases` can.
schedule::Phases forward_part(const schedule::Phases& phases, const schedule::PipelineShape& shape);

}  // namespace trireme::plan
