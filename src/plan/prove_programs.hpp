// Adds messages to the programs of a plan, and proves that the programs are correct.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/plan/proved_programs.hpp"
#include "trireme/schedule/costs.hpp"

namespace trireme::plan {

// Adds messages to the programs `compute`, and proves the result with `slots` slots per channel. If the
// programs cannot run with this number of slots, returns nothing and sets `fault` to the reason.
std::optional<ProvedPrograms> try_slots(const schedule::Phases& compute, schedule::PipelineShape shape,
                                        int slots, std::string& fault);

// Returns an upper bound of the slots that a channel can use: the number of messages that the channel may carry
// in a step. If micro-batches are in flight at the end of a step, the bound includes the messages of a full
// pipeline.
int compute_max_useful_slots(const schedule::Phases& compute, const schedule::PipelineShape& shape);

// Tries ascending numbers of slots. Proves the programs with the first number that makes them no slower than
// the largest useful number does. Programs need several slots if a team sends several micro-batches before the
// receiver reads the first of them. Other programs need one slot. Throws ConfigError if the programs cannot
// run. The message names `place`, which is the schedule or its file.
ProvedPrograms prove_with_fewest_slots(const schedule::Phases& compute, const schedule::PipelineShape& shape,
                                       const std::vector<schedule::StageCost>& costs, const std::string& place);

}  // namespace trireme::plan
