// Programs of any number of steps in compact form: a prologue before the first step, and a body that every step
// repeats.
#pragma once

#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// In the programs of many steps, the body of step t ends with the STEPs of step t or, if updates are
// speculative, with its VALIDATEs. Micro-batch m of a body belongs to step t + m / microbatches, where
// `microbatches` is the number per step. So a body contains work of later steps if m >= microbatches. The
// prologue contains the work on the first steps that must precede the body of step 0. The phases of a
// synchronous schedule have an empty prologue, and a body that contains the work of its own step only. Example
// with one micro-batch per step; F1 and B1 are the forward and the backward of micro-batch 1, numbered over all
// steps:
//
//              prologue   body of step 0          body of step 1
//   stage 0    F0 F1      F2 B0 REDUCE STEP       F3 B1 REDUCE STEP       ...
//   stage 1    F0         F1 B0 REDUCE STEP       F2 B1 REDUCE STEP
//   stage 2               F0 B0 REDUCE STEP       F1 B1 REDUCE STEP
struct Phases {
    std::vector<Program> prologue;  // per team; all programs are empty if there is no prologue
    std::vector<Program> body;      // per team
};

// Returns the largest look-ahead of any work, in steps. Work on step u has look-ahead u - t in the body of step
// t, and look-ahead u in the prologue. Here and below, `microbatches` is the number per step.
int count_look_ahead_steps(const Phases& phases, int microbatches);

bool has_prologue(const Phases& phases);

// True if micro-batches are in flight across the end of a step. Otherwise each body contains work of its own
// step only.
bool keeps_work_in_flight(const Phases& phases, int microbatches);

// Returns the programs of `steps` steps, without the work on later steps. So the programs begin and end with an
// empty pipeline. `shape` describes one step.
std::vector<Program> unroll(const Phases& phases, const PipelineShape& shape, int steps);
// Returns the program that unroll() returns for one team.
Program unroll_team(int team, const Phases& phases, const PipelineShape& shape, int steps);

// Returns a number of steps that suffices for checks. Programs of more steps would only repeat the work of a
// step in the middle, in which the pipeline is full and weights of all ages are in use.
int count_representative_steps(const Phases& phases, int microbatches);

// The inverse of unroll(): returns the phases whose unrolling is `programs`. The programs cover shape.steps
// steps, which must be enough for the second and the third step to contain all work of a body, including the
// body's work on later steps. Throws BugError if there are fewer than three steps, or if the steps do not
// repeat.
Phases fold(const std::vector<Program>& programs, const PipelineShape& shape);

// True if fold() accepts the programs: their first three steps are equal, except for the prologue before the
// first step.
bool has_repeating_steps(const std::vector<Program>& programs, const PipelineShape& shape);

// Returns the program with `microbatches`, which may be negative, added to all micro-batch numbers.
Program shift_microbatches(const Program& program, int microbatches);

}  // namespace trireme::schedule
