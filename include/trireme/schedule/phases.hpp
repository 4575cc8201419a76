// Programs of many steps, said once: what comes before the first step, and what every step repeats.
#pragma once

#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The body of step t ends with its STEPs or, where updates are validated, its VALIDATEs. Micro-batch m of it is
// of step t + m / microbatches: where that is a later step, its forwards run ahead of what ends the step. The
// prologue, micro-batches counted from the first step, has what the first body finds done. Synchronous
// schedules have bodies alone, of their own step alone.
//
//              prologue   body of step 0          body of step 1
//   stage 0    F0 F1      F2 B0 REDUCE STEP       F3 B1 REDUCE STEP       ...       (one micro-batch a step)
//   stage 1    F0         F1 B0 REDUCE STEP       F2 B1 REDUCE STEP
//   stage 2               F0 B0 REDUCE STEP       F1 B1 REDUCE STEP
struct Phases {
    std::vector<Program> prologue;  // per team; all empty: there is none
    std::vector<Program> body;      // per team
};

// How many steps beyond its own a body or the prologue reaches into.
int look_ahead(const Phases& phases, int microbatches);

bool has_prologue(const Phases& phases);

// Whether there is work over the end of a step: otherwise each body is of its own step alone.
bool keeps_work_in_flight(const Phases& phases, int microbatches);

// Programs of `steps` steps that begin with nothing under way and end so: nothing is done for later steps.
// `shape` is of one step.
std::vector<Program> unrolled(const Phases& phases, const PipelineShape& shape, int steps);
Program unrolled_of(int team, const Phases& phases, const PipelineShape& shape, int steps);

// So many steps that what is true of their unrolling, is of that of more: the first of them begins with nothing
// under way, the last ends so, and one between them is like all that would follow, weights of all ages
// included.
int enough_steps(const Phases& phases, int microbatches);

// The phases whose unrolling is `programs`. These cover shape.steps steps, enough for two bodies that nothing
// is left out of. Throws BugError where they do not repeat.
Phases folded(const std::vector<Program>& programs, const PipelineShape& shape);

// Whether the steps of such programs are all alike, but for what the first finds done.
bool repeat(const std::vector<Program>& programs, const PipelineShape& shape);

// The same program for a later step: its micro-batches' numbers are that much higher.
Program shifted(const Program& program, int microbatches);

}  // namespace trireme::schedule
