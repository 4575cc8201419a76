// How quickly two ranks reach each other.
#pragma once

#include <utility>
#include <vector>

#include "tools/doctor/facts.hpp"
#include "trireme/comm/communicator.hpp"

namespace trireme::doctor {

// Rank 0 and its first neighbour, and rank 0 and the first rank of each other node: who is to be asked.
// `nodes` has each rank's node: see Session.
std::vector<std::pair<int, int>> pairs_of(const std::vector<int>& nodes);

// For the two of a pair alone: 0 is the first of them. Messages of eight bytes and of four megabytes go to and
// fro, one at a time; half of what that takes, the median of several rounds. A message that does not come is a
// ResourceError after the group's patience.
PairFacts measure_pair(Communicator& group, const std::pair<int, int>& pair);

}  // namespace trireme::doctor
