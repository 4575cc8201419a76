// A schedule made from costs: many orders of work are tried, and the shortest is taken.
#pragma once

#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Per team: the activations that it cannot do without, counted over its stages. A micro-batch has passed all of
// them before it comes back to any.
std::vector<int> least_activations(const PipelineShape& shape);

// One program of one step for each team, of compute instructions alone, within the shape's bounds on
// activations. With slots enough, predict() finds none of generate()'s programs of one step shorter, all with
// updates that wait for all teams, that use no older weights, are made for the shape, keep to its bounds and
// divide backwards only where `may_split` (per stage) allows it. Of equally short programs those are taken that
// keep less. `costs`: per stage. The same input gives the same programs everywhere.
//
// Forward-only shapes get the forwards of such a schedule, whatever they cost, where there is one.
//
// Throws ConfigError where a bound is below least_activations().
std::vector<Program> search_programs(const PipelineShape& shape, const std::vector<StageCost>& costs,
                                     const std::vector<bool>& may_split);

// What else may be shorter, for the shape with validates: the programs that were found, and those of generate()
// whose updates are validated, and that divide backwards only where they may. None where the shape's rows of
// teams are no equal ones. Some may be impossible, or beyond the shape's bounds: check() tells.
std::vector<Phases> programs_ahead(const std::vector<Program>& found, const PipelineShape& shape,
                                   const std::vector<bool>& may_split);

}  // namespace trireme::schedule
