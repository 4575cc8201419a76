// Exchanges ranks so that slow ranks work together.
#pragma once

#include "policy/spread.hpp"

namespace trireme::policy {

// Returns up to two placements that gather slow ranks: by stages and by rows of replicas. The stage or row with
// the most slow ranks is filled first, then the next. Only ranks of the same node are exchanged, as few as
// possible. Empty if nothing would change, with fewer than two slow ranks, or if teams differ in size or have
// several stages.
std::vector<Places> gathered(const Places& places, const std::vector<double>& slowness,
                             const std::vector<int>& nodes);

}  // namespace trireme::policy
