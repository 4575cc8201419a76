// Cutting a width among ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme {

// Cuts `count` units in proportion to `weights`, one range for each weight, in order and without gaps; each
// gets at least one unit, and the most units for a weight are as few as can be: 4 over {1,1,1} is 2,1,1, the
// first of equal ones having more. Throws ConfigError for fewer units than weights ("4 heads cannot be shared
// by 5 ranks;
// ...", `what` being "heads") and for a weight of 0.
std::vector<Range> cut_in_shares(std::size_t count, std::span<const std::size_t> weights,
                                 const std::string& what);

// Cuts `count` into `parts` ranges whose lengths differ by at most one, longer ones first; some may be empty.
std::vector<Range> cut_evenly(std::size_t count, std::size_t parts);

}  // namespace trireme
