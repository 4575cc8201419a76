// The views of a rank's state from which checkpoints are written, and the reading of this state.
#pragma once

#include <vector>

#include "trireme/checkpoint/state_view.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme::rank {

// Returns views of the rank's parameters and moments. If the optimizer has master weights, their views replace
// those of the parameters.
std::vector<checkpoint::StateView> make_state_views(const stage::LocalParameters& parameters,
                                                    const optim::Optimizer& optimizer);

// Reads the rank's moments and the number of updates from a checkpoint. The run that wrote the checkpoint may
// have had another layout. Throws ConfigError if a part of the checkpoint cannot be read.
void restore_optimizer(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                       optim::Optimizer& optimizer, int threads);

}  // namespace trireme::rank
