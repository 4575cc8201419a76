// Lowering: adds messages and collectives to programs of compute instructions.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns the programs with messages, REDUCEs and STEPs.
//
// A send follows the compute instruction whose result it carries. If that runs ahead of a VALIDATE and its
// reader does not, the send follows the VALIDATE instead. A receive stands as early as the slots of its channel
// allow: the k-th of a channel directly after the compute instruction that reads the (k - slots)-th, in the
// order of the sends. It never precedes the STEPs, or the VALIDATEs, that its reader follows. In training,
// REDUCE follows a team's last backward (or weight half) of a stage. The STEPs of all its stages end the
// program, even if the team executes no micro-batch. Programs that already have messages only get the REDUCEs
// and STEPs that they lack.
//
// The result may be wrong if `compute` was; check() finds out.
std::vector<Program> lower(const std::vector<Program>& compute, const PipelineShape& shape);

// The same for phases. Phases that keep work in flight already have their REDUCEs, STEPs and VALIDATEs. Call it
// for those only if obstacle_to_lowering() is empty.
Phases lower_phases(const Phases& compute, const PipelineShape& shape);

// Says why phases that keep work in flight cannot be lowered: the fault that check() finds, or that their steps
// with messages are not all alike. Empty if they can be lowered.
std::string obstacle_to_lowering(const Phases& compute, const PipelineShape& shape);

// Returns the programs without messages and collectives.
std::vector<Program> compute_only(const std::vector<Program>& programs);

}  // namespace trireme::schedule
