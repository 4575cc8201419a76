// Which ranks share a machine.
#pragma once

#include <map>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace trireme::doctor {

// By node, that is, by the first of its ranks.
std::map<int, std::vector<int>> ranks_of_nodes(const std::vector<RankFacts>& ranks);

}  // namespace trireme::doctor
