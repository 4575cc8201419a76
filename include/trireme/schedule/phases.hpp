// Programs of many steps in compact form: a prologue before the first step, and a body that every step repeats.
#pragma once

#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The body of step t ends with its STEPs or, if updates are validated, its VALIDATEs. Its micro-batch m belongs
// to step t + m / microbatches. If that is a later step, its forwards run ahead of the end of step t. The
// prologue has the work that the first body expects to be done; its micro-batches count from the first step.
// Synchronous schedules have only bodies, which contain their own step only.
//
//              prologue   body of step 0          body of step 1
//   stage 0    F0 F1      F2 B0 REDUCE STEP       F3 B1 REDUCE STEP       ...       (one micro-batch a step)
//   stage 1    F0         F1 B0 REDUCE STEP       F2 B1 REDUCE STEP
//   stage 2               F0 B0 REDUCE STEP       F1 B1 REDUCE STEP
struct Phases {
    std::vector<Program> prologue;  // per team; all empty if there is none
    std::vector<Program> body;      // per team
};

// Returns the number of later steps that a body or the prologue reaches into.
int look_ahead(const Phases& phases, int microbatches);

bool has_prologue(const Phases& phases);

// True if work is in flight across the end of a step. Otherwise each body contains its own step only.
bool keeps_work_in_flight(const Phases& phases, int microbatches);

// Returns the programs of `steps` steps. They begin and end with no work in flight: nothing is done for later
// steps. `shape` describes one step.
std::vector<Program> unrolled(const Phases& phases, const PipelineShape& shape, int steps);
Program unrolled_of(int team, const Phases& phases, const PipelineShape& shape, int steps);

// Returns a number of steps whose unrolling represents any larger number: the first step begins with no work in
// flight, the last one ends so, and one between them is like all that would follow, weights of all ages
// included.
int enough_steps(const Phases& phases, int microbatches);

// Returns the phases whose unrolling is `programs`. These cover shape.steps steps, enough for two complete
// bodies. Throws BugError if the steps do not repeat.
Phases folded(const std::vector<Program>& programs, const PipelineShape& shape);

// True if the steps of such programs are all alike, except for the prologue that precedes the first.
bool repeat(const std::vector<Program>& programs, const PipelineShape& shape);

// Returns the same program for a later step: its micro-batch numbers are higher by `microbatches`.
Program shifted(const Program& program, int microbatches);

}  // namespace trireme::schedule
