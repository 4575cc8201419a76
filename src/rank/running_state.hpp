// Makes the views of a rank's state from which checkpoints are written, and reads optimizer state from a
// checkpoint.
#pragma once

#include <vector>

#include "trireme/checkpoint/state_view.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme::rank {

// Returns views of the rank's parameters and moments. If the optimizer has master weights, views of the
// master weights replace the views of the trained parameters.
std::vector<checkpoint::StateView> make_state_views(const stage::LocalParameters& parameters,
                                                    const optim::Optimizer& optimizer);

// Returns the bytes of the moments in `views`. Moments have the same type, so also the same size, in memory and
// in a checkpoint.
std::size_t count_moment_bytes(const std::vector<checkpoint::StateView>& views);

// Reads the rank's moments and the numbers of updates from a checkpoint, but not the master weights, which
// RankModel::fill() initializes. `specs` are the rank's parameters; `threads` is the number of reading threads.
// The run that wrote the checkpoint may have had another layout or another depth; parameters whose moments it
// lacks begin anew. Throws ConfigError if a part of the checkpoint cannot be read.
void restore_optimizer(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                       optim::Optimizer& optimizer, int threads);

// Returns the numbers of updates of the trained parameters; none if `optimizer` is null.
checkpoint::UpdateCounts find_update_counts(const optim::Optimizer* optimizer);

}  // namespace trireme::rank
