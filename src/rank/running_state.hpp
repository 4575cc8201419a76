// Connects the state of a run on one rank with checkpoints.
#pragma once

#include <vector>

#include "trireme/checkpoint/state_view.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme::rank {

// Returns views of all parameters of the rank, or of the master weights that it updates if there are any, and
// of all its moments.
std::vector<checkpoint::StateView> views_of(const stage::LocalParameters& held,
                                            const optim::Optimizer& optimizer);

// Reads the rank's moments and the number of updates from a checkpoint, whichever ranks wrote it. Throws
// ConfigError if a part cannot be read.
void restore(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
             optim::Optimizer& optimizer, int threads);

}  // namespace trireme::rank
