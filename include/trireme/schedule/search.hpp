// Searches for a schedule by costs: tries many orders of work and takes the shortest.
#pragma once

#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Returns per team the least number of activations that it must be able to keep, summed over its stages. A
// micro-batch passes forward through all of its stages before its backward reaches any of them.
std::vector<int> least_activations(const PipelineShape& shape);

// Returns one program of one step per team, with compute instructions only, within the shape's bounds on
// activations. `costs` and `may_split` have one entry per stage. The same input gives the same programs
// everywhere.
//
// With enough slots, predict() finds no comparable program of generate() shorter. Comparable are the programs
// of one step that fit the shape, keep to its bounds, use the newest weights, update after all teams'
// gradients, and split backwards only where `may_split` allows it. Of equally short programs those that keep
// less are taken.
//
// Forward-only shapes get the forwards of such a schedule, whatever their cost, if there is one.
//
// Throws ConfigError if a bound is below least_activations().
std::vector<Program> search_programs(const PipelineShape& shape, const std::vector<StageCost>& costs,
                                     const std::vector<bool>& may_split);

// Returns further candidates that may be shorter, for the shape with `validates`: the programs `found`, and
// those of generate() that have speculative updates and split backwards only where they may. All of them get
// VALIDATEs. Empty if the shape does not consist of equal rows of teams. A candidate may be impossible, or
// exceed the shape's bounds; check() finds out.
std::vector<Phases> programs_ahead(const std::vector<Program>& found, const PipelineShape& shape,
                                   const std::vector<bool>& may_split);

}  // namespace trireme::schedule
