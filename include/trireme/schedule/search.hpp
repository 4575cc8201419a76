// Searches for the programs with the shortest duration for given costs: tries many orders of instructions.
#pragma once

#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Returns, per team, the smallest activation limit (in-flight micro-batches, summed over the team's stages)
// with which the team can execute a step. The limit is above 1 if the team executes a micro-batch in several
// stages: the micro-batch passes forward through all of them before its backward begins.
std::vector<int> compute_min_activations(const PipelineShape& shape);

// Returns the programs of one step, one per team, with compute instructions only, within the max_activations of
// the shape. `costs` and `may_split` have one entry per stage; `may_split` tells where backwards may be split
// in two halves. The same arguments give the same programs on all machines.
//
// With enough slots, the programs take no longer than those of any schedule of the catalog that suits the shape
// and its max_activations, stashes no weights, and splits backwards only where `may_split` allows it. Among
// programs of equal duration, those with the smallest activation stash are returned.
//
// If the shape is not for training, returns the forwards of the first schedule of the catalog that suits the
// shape, whatever the costs; if there is no such schedule, forwards in an order that the search chooses.
//
// Throws ConfigError if max_activations is below compute_min_activations() for a team.
std::vector<Program> search_programs(const PipelineShape& shape, const std::vector<StageCost>& costs,
                                     const std::vector<bool>& may_split);

// Returns candidates with speculative updates, which may be shorter than `searched_programs` (those of
// search_programs()): `searched_programs` itself with VALIDATEs, and the programs of each schedule of the
// catalog that has speculative updates and splits backwards only where `may_split` allows it. The candidates
// are for `shape` with has_speculative_updates. Empty if the shape is not for training, if its stages differ in
// the number of replicas, or if each team holds all stages. A candidate may deadlock or exceed max_activations:
// verify_programs() finds this.
std::vector<Phases> make_speculative_programs(const std::vector<Program>& searched_programs,
                                              const PipelineShape& shape, const std::vector<bool>& may_split);

}  // namespace trireme::schedule
