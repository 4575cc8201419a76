// Cutting a width among ranks, and equal pieces of work among those who do it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// Cuts `count` units in proportion to `weights`, one range for each weight, in order and without gaps; each
// gets at least one unit, and the most units for a weight are as few as can be: 4 over {1,1,1} is 2,1,1, the
// first of equal ones having more. Throws ConfigError for fewer units than weights ("4 heads cannot be shared
// by 5 ranks;
// ...", `what` being "heads") and for a weight of 0.
std::vector<Range> cut_in_shares(std::size_t count, std::span<const std::size_t> weights,
                                 const std::string& what);

// Cuts `count` into `parts` ranges whose lengths differ by at most one, longer ones first; some may be empty.
std::vector<Range> cut_evenly(std::size_t count, std::size_t parts);

// Who does each of `count` equal pieces of work, where each does as many in a second as its part says: always
// whoever is done with one more the soonest, the first of equal ones. So the last of them is done as early as
// can be, and parts that sum up to `count` are the numbers of pieces.
std::vector<std::size_t> take_turns(const std::vector<double>& parts, std::size_t count);

// Likewise how many pieces each does; where there are enough, one at least.
std::vector<std::size_t> count_turns(const std::vector<double>& parts, std::size_t count);

}  // namespace trireme::layout
