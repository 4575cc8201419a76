// Ranks that change places, so that slow ones work together.
#pragma once

#include "policy/spread.hpp"

namespace trireme::policy {

// With two slow ranks and more, who has a team of the same size each: together in the stage that has most of
// them already, then in the next; likewise in a row of replicas. Only ranks of a node change places, and no
// more than have to. None where nobody does.
std::vector<Places> gathered(const Places& places, const std::vector<double>& slowness,
                             const std::vector<int>& nodes);

}  // namespace trireme::policy
