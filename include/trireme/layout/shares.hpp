// Cuts a width among ranks, and equal work items among workers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// Cuts `count` units in proportion to `weights`, one range per weight, in order and without gaps. Each range
// gets at least one unit. The largest number of units per weight is minimal, and earlier weights win ties: 4
// over {1,1,1} is 2,1,1. Throws ConfigError if there are fewer units than weights ("4 heads cannot be shared by
// 5 ranks; ...", with "heads" as `what`) or if a weight is 0.
std::vector<Range> cut_in_shares(std::size_t count, std::span<const std::size_t> weights,
                                 const std::string& what);

// Cuts `count` into `parts` ranges whose lengths differ by at most one, longer ones first. Ranges may be empty.
std::vector<Range> cut_evenly(std::size_t count, std::size_t parts);

// Assigns each of `count` equal work items to a worker and returns the worker of each item. `parts` are the
// workers' speeds. An item goes to the worker that would finish it first; the first worker wins ties. This
// minimizes the total time. If the parts are integers that add up to `count`, they are the numbers of items.
std::vector<std::size_t> take_turns(const std::vector<double>& parts, std::size_t count);

// Returns the number of items per worker by the same rule, at least one each if there are enough items.
std::vector<std::size_t> count_turns(const std::vector<double>& parts, std::size_t count);

}  // namespace trireme::layout
