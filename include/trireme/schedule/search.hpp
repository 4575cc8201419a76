// Searches for programs of short duration for given costs of stages, by trying many orders of instructions.
#pragma once

#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Returns, per team, the smallest activation limit (in-flight micro-batches, summed over the team's stages)
// with which the team can execute a step. The limit is above 1 if the team executes a micro-batch in several
// stages: the micro-batch passes forward through all these stages before its backward begins.
std::vector<int> compute_min_activations(const PipelineShape& shape);

// Returns the programs of one step, one per team, with compute instructions only. The programs respect the
// max_activations of the shape. `costs` and `may_split` have one entry per stage; may_split[s] is true if the
// backwards of stage s may be split in two halves. The same arguments give the same programs on all machines.
//
// A schedule of the catalog is comparable if it suits the shape, respects max_activations, stashes no weights,
// and splits backwards only where `may_split` permits it. With enough slots, the returned programs take no
// longer than those of any comparable schedule. Of candidates with equal duration, the search prefers the one
// with the smaller activation stash.
//
// If the shape is not for training, returns the forwards of the first schedule of the catalog that suits the
// shape and stashes no weights, whatever the costs are. If there is no such schedule, returns forwards in an
// order that the search chooses.
//
// Throws ConfigError if max_activations is below compute_min_activations() for a team.
std::vector<Program> search_programs(const PipelineShape& shape, const std::vector<StageCost>& costs,
                                     const std::vector<bool>& may_split);

// Returns candidates with speculative updates. `searched_programs` is the result of search_programs(). The
// steps of a candidate may be shorter than the steps of `searched_programs`. The first candidate is
// `searched_programs` with VALIDATEs. The others are the programs of each schedule of the catalog that suits
// the shape, has speculative updates, and splits backwards only where `may_split` permits it. The candidates
// are for `shape` with has_speculative_updates. The candidates have REDUCEs, STEPs and VALIDATEs, but no
// messages. A candidate may deadlock or exceed max_activations: verify_programs() finds such faults.
//
// Returns no candidate if the shape is not for training, if its stages differ in the number of replicas, or if
// each team holds all stages.
std::vector<Phases> make_speculative_programs(const std::vector<Program>& searched_programs,
                                              const PipelineShape& shape, const std::vector<bool>& may_split);

}  // namespace trireme::schedule
