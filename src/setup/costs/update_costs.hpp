// Predicts the time in which a rank updates the parameters of a stage.
#pragma once

#include "trireme/setup/step_costs.hpp"

namespace trireme::setup {

// Returns the time in which a rank with the kind of device `kind` clears its gradients, adds up the gradients
// of all replicas, computes the norm and updates its parameters. Replicas divide the computation of the norm
// evenly. If they shard the optimizer state, they also divide the update.
double predict_update_seconds(const PricedPlan& priced, const Machine& machine, const stage::StageSpec& spec,
                              std::size_t replicas, std::size_t kind);

// Returns the time in which the rank copies the state that a speculative update changes; 0 without such
// updates.
double predict_backup_seconds(const PricedPlan& priced, const Machine& machine, const stage::StageSpec& spec,
                              std::size_t replicas, std::size_t kind);

}  // namespace trireme::setup
