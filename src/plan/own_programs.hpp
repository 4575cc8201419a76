// Programs that a file gives, brought into the order of teams.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

// `programs` come one for each team, or one for each rank that works, ranks ascending; those of a team are
// equal. Where there are as many teams as ranks and their orders differ, it is the order whose teams execute
// what their programs say. Throws ConfigError, naming `place`, for another number, for unlike programs of a
// team, and for micro-batches of steps, or weights of updates, that are far away.
Phases programs_of_teams(const Phases& programs, const std::vector<Team>& teams, const PipelineShape& shape,
                         const std::string& place);

// Whether programs validate their updates: all of them or none. Throws ConfigError, naming `place`, for others.
bool validates(const Phases& programs, const std::string& place);

// The forwards of one step and their messages: proved, where `phases` are.
Phases forward_part(const Phases& phases, const PipelineShape& shape);

}  // namespace trireme
