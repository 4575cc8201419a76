// From compute instructions to whole programs: messages and collectives are put where they belong.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// A send follows the compute instruction whose result it carries; where that runs ahead of a VALIDATE and its
// reader does not, it follows the VALIDATE. A receive stands as early as its channel's
// slots allow: the k-th on a channel right behind the compute instruction that reads the (k - slots)-th, in the
// order of the sends, but never before the STEPs, or the VALIDATEs, that its reader stands behind. In training
// REDUCE follows a team's last backward (or weight half) of a stage, and the STEPs of all its stages end the
// program, also of a team that executes no micro-batch. Programs that have messages already are given back with
// what is missing of REDUCE and STEP.
//
// Gives back programs that may be wrong where `compute` was: check() tells.
std::vector<Program> lower(const std::vector<Program>& compute, const PipelineShape& shape);

// The same for phases. Those that keep work in flight have their REDUCEs, STEPs and VALIDATEs already; they are
// folded again with their messages, and what may be wrong with them has to be known before.
Phases lower_phases(const Phases& compute, const PipelineShape& shape);

// Why phases that keep work in flight cannot be lowered: what check() finds, or that their steps with messages
// are not all alike. Empty: they can.
std::string obstacle_to_lowering(const Phases& compute, const PipelineShape& shape);

// Without messages and collectives.
std::vector<Program> compute_only(const std::vector<Program>& programs);

}  // namespace trireme::schedule
