// Exchanges ranks so that slow ranks are in the same stage or the same pipeline replica.
#pragma once

#include "policy/distribute_layers.hpp"

namespace trireme::policy {

// Returns up to two placements: one gathers slow ranks in few stages, the other in few pipeline replicas
// (replica r of every stage). The stage or pipeline replica that has the most slow ranks is filled with slow
// ranks first. Only ranks of the same node are exchanged, as few as possible. `slowness` and `nodes` have one
// value per rank. Returns no placement if there are fewer than two slow ranks, if teams differ in size or have
// several stages, or if nothing would change.
std::vector<TeamPlacement> gather_slow_ranks(const TeamPlacement& placement,
                                             const std::vector<double>& slowness,
                                             const std::vector<int>& nodes);

}  // namespace trireme::policy
