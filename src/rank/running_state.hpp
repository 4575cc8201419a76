// The state of a run on one rank, as checkpoints see it.
#pragma once

#include <vector>

#include "trireme/checkpoint/state_view.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme::rank {

// All values that it holds, or the masters of those that it updates, and all moments that it keeps.
std::vector<checkpoint::StateView> views_of(const stage::LocalParameters& held,
                                            const optim::Optimizer& optimizer);

// The moments of a checkpoint, whichever ranks wrote them, and the number of updates behind them. Throws
// ConfigError where a part cannot be read.
void restore(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
             optim::Optimizer& optimizer, int threads);

}  // namespace trireme::rank
