// The programs of a plan, with the proof that they are correct.
#pragma once

#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::plan {

// One program per team. verify_programs() has proved that the programs are correct for any number of steps.
struct ProvedPrograms {
    schedule::PipelineShape shape;            // of one step
    std::vector<schedule::Program> prologue;  // per team: see Phases; all empty if the schedule is synchronous
    std::vector<schedule::Program> programs;  // per team: the body of each step
    int look_ahead = 0;  // number of later steps whose micro-batches a body already computes; 0 if synchronous
    int representative_steps = 1;      // see count_representative_steps()
    bool have_common_buffers = false;  // of different steps; see have_steps_common_buffers()
    schedule::Proof proof;             // for representative_steps

    schedule::Phases phases() const { return {.prologue = prologue, .body = programs}; }
    // True if a step can be executed by itself: no micro-batch is in flight at its end, and all instructions
    // use the newest weights.
    bool are_steps_independent() const { return representative_steps == 1; }
    // Returns the program of a team over `steps` steps or over representative_steps, because later steps would
    // only repeat these steps.
    schedule::Program unroll_program(int team, int steps) const;
    schedule::Program unroll_program(int team) const { return unroll_program(team, representative_steps); }
};

}  // namespace trireme::plan
