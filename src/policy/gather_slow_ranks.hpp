// Exchanges ranks so that slow ranks are in the same stage or the same pipeline replica.
#pragma once

#include "policy/distribute_layers.hpp"

namespace trireme::policy {

// Returns up to two placements: one gathers slow ranks in few stages, the other in few pipeline replicas
// (replica r of every stage). The stage or pipeline replica with the most slow ranks is filled with slow ranks
// first: its healthy ranks are exchanged for slow ranks of the same node, the slowest first. `slowness` and
// `nodes` have one value per rank.
//
// Omits placements that equal `placement`. Returns no placement if `nodes` is empty or there are fewer than two
// slow ranks. This also applies if a team has several stages, if teams differ in size, or if stages differ in
// their number of replicas.
std::vector<TeamPlacement> gather_slow_ranks(const TeamPlacement& placement,
                                             const std::vector<double>& slowness,
                                             const std::vector<int>& nodes);

}  // namespace trireme::policy
