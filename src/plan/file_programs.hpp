// Programs from a file: checks them and sorts them by team.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::plan {

// Returns one program per team. `programs` has one program per team, or one per rank that is not idle, in
// ascending order of ranks. In the second case, the ranks of a team must have equal programs. If each team has
// one rank, the programs may be in the order of teams or of ranks. The function then chooses the order in which
// `shape` assigns the instructions of each program to the program's team (see PipelineShape::executor). If both
// orders fit, or neither, the function chooses the order of teams.
//
// Throws ConfigError, with the file name `place` in the message,
//   - for any other number of programs, and for different programs within a team;
//   - for a micro-batch without a forward or backward pass in a stage, or with the backward pass first;
//   - if an instruction's micro-batch is more than 100 steps ahead, or its weights are more than 100 updates
//     old.
schedule::Phases order_by_team(const schedule::Phases& programs, const std::vector<layout::Team>& teams,
                               const schedule::PipelineShape& shape, const std::string& place);

// True if the programs have speculative updates, i.e. VALIDATE instructions. Throws ConfigError, naming
// `place`, if only some of their updates are validated.
bool validates_updates(const schedule::Phases& programs, const std::string& place);

// Returns the programs of an evaluation: an empty prologue, and a body with the forward passes of one step and
// their messages. If verify_programs() accepts `phases`, it accepts the result.
schedule::Phases extract_forwards(const schedule::Phases& phases, const schedule::PipelineShape& shape);

}  // namespace trireme::plan
