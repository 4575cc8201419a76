// Programs that a file gives, brought into the order of teams.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::plan {

// `programs` come one for each team, or one for each rank that works, ranks ascending; those of a team are
// equal. Where there are as many teams as ranks and their orders differ, it is the order whose teams execute
// what their programs say. Throws ConfigError, naming `place`, for another number, for unlike programs of a
// team, and for micro-batches of steps, or weights of updates, that are far away.
schedule::Phases programs_of_teams(const schedule::Phases& programs, const std::vector<layout::Team>& teams,
                                   const schedule::PipelineShape& shape, const std::string& place);

// Whether programs validate their updates: all of them or none. Throws ConfigError, naming `place`, for others.
bool validates(const schedule::Phases& programs, const std::string& place);

// The forwards of one step and their messages: proved, where `phases` are.
schedule::Phases forward_part(const schedule::Phases& phases, const schedule::PipelineShape& shape);

}  // namespace trireme::plan
