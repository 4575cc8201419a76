// The sizes of micro-batches that fit into memory, and the plan that fits with them.
#pragma once

#include "trireme/setup/setup.hpp"

namespace trireme::setup {

// Sets the sizes of micro-batches in `state`, and fits its plan into the memory limit. `request` is the request
// from which this plan was made. If micro-batches are formed by time, the plan needs as much memory as with
// LengthPolicy::pad, or less if the memory limit is lower. `trains` is false for an evaluation. Throws
// ConfigError if no plan fits into the memory limit.
void size_microbatches(const Job& job, const PlanRequest& request, int ranks, bool trains, PlanState& state);

// Throws ConfigError if --length forms micro-batches by time, but the model or the schedule does not support
// such micro-batches.
void check_forming_by_time(const config::RunConfig& config, const model::ModelConfig& model,
                           const plan::Plan& plan);

}  // namespace trireme::setup
