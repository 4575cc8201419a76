// Lowering: adds messages and collectives to programs of compute instructions.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns `phases`, the programs of a schedule that trains all stages, without the work that frozen stages do
// not have: see check.hpp. If the programs have VALIDATEs, the result is synchronous: it has no VALIDATEs, and
// no forward before the step of its micro-batch. Returns `phases` unchanged if no stage is frozen.
Phases remove_frozen_work(Phases phases, const PipelineShape& shape);

// Returns the programs of `compute`, one per team, with messages, REDUCEs and STEPs added. If any program of
// `compute` has messages, only the missing REDUCEs and STEPs are added.
//
// A send follows the compute instruction whose result it carries. There is one
// exception. If the receiving team reads the result only after its VALIDATEs of a step, and the sending team
// computes it before its own VALIDATEs of that step, then the send follows these VALIDATEs. A receive stands as
// early as the slots of its channel allow: the k-th receive of a channel stands after the compute instruction
// that reads the (k - slots)-th message, and after the sends that directly follow this instruction. Receives of
// a channel have the order of the sends. If the instruction that reads a message follows STEPs or VALIDATEs,
// the receive follows these STEPs or VALIDATEs, too. In training, the REDUCE of a stage follows the team's last
// backward (or weight half) of the stage. REDUCEs at the same place are ordered from the last stage to the
// first. The missing STEPs of all trained stages that the team holds are added at the end of its program, even
// if the team executes no micro-batch.
//
// If `compute` has a fault, the returned programs have the same fault, which verify_programs() finds.
std::vector<Program> lower(const std::vector<Program>& compute, const PipelineShape& shape);

// Calls lower() for the prologue and the body of `compute`. `shape` describes one step. Phases that keep work
// in flight across the end of a step must already have their REDUCEs, STEPs and VALIDATEs, and
// find_lowering_obstacle() must return an empty text for them.
Phases lower_phases(const Phases& compute, const PipelineShape& shape);

// Returns why phases that keep work in flight across the end of a step cannot be lowered: verify_programs()
// finds a fault, or steps whose programs are equal get unequal messages. Returns an empty text if the phases
// can be lowered, or if they keep no work in flight.
std::string find_lowering_obstacle(const Phases& compute, const PipelineShape& shape);

// Returns the programs without messages, REDUCEs, STEPs and VALIDATEs.
std::vector<Program> extract_compute(const std::vector<Program>& programs);

}  // namespace trireme::schedule
