// Programs that a file gives, brought into the order of teams.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

// `programs` come one for each team, or one for each rank that works, ranks ascending; those of a team are
// equal. Where there are as many teams as ranks and their orders differ, it is the order whose teams execute
// what their programs say. Throws ConfigError, naming `place`, for another number and for unlike programs of a
// team.
std::vector<Program> programs_of_teams(const std::vector<Program>& programs, const std::vector<Team>& teams,
                                       const PipelineShape& shape, const std::string& place);

// The forwards and their messages: proved, where `programs` are.
std::vector<Program> forward_part(const std::vector<Program>& programs);

}  // namespace trireme
