// Which ranks share a machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace trireme::doctor {

// By node, that is, by the first of its ranks.
std::map<int, std::vector<int>> ranks_of_nodes(const std::vector<RankFacts>& ranks);

// "4 ranks", "1 rank".
std::string counted(std::size_t count, const std::string& noun);

}  // namespace trireme::doctor
