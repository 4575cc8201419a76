// Cuts heads, columns or vocabulary rows among ranks, and assigns micro-batches to replicas.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// Cuts `count` units in proportion to `weights`, one range per weight, in order and without gaps. Each range
// has at least one unit. The maximum over the ranges of (units / weight) is minimal; earlier ranges win ties,
// e.g. 4 units with the weights 1, 1, 1 become 2, 1, 1. Throws ConfigError if there are fewer units than
// weights ("4 heads cannot be shared by 5 ranks; ...", with "heads" as `what`) or if a weight is 0.
std::vector<Range> cut_by_weights(std::size_t count, std::span<const std::size_t> weights,
                                  const std::string& what);

// Cuts `count` units into `parts` ranges whose lengths differ by at most one, longer ones first. Ranges may be
// empty.
std::vector<Range> cut_evenly(std::size_t count, std::size_t parts);

// Assigns `count` equal work items (micro-batches) to workers (replicas), and returns the worker of each item.
// `speeds` has one value per worker. An item goes to the worker that would finish it first; the worker with the
// lower index wins ties. This minimizes the total time. If the speeds are integers that add up to `count`, each
// worker gets a number of items equal to its speed.
std::vector<std::size_t> assign_turns(const std::vector<double>& speeds, std::size_t count);

// Returns the number of items that assign_turns() gives each worker, except that each worker gets at least one
// item if there are enough items.
std::vector<std::size_t> count_turns(const std::vector<double>& speeds, std::size_t count);

}  // namespace trireme::layout
