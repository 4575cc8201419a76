// Cuts heads, columns or vocabulary rows among ranks, and assigns micro-batches to replicas.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// Cuts `count` units in proportion to `weights`, one range per weight, in order and without gaps. Each range
// has at least one unit. The maximum of (units / weight) over the ranges is minimal. A unit that could go to
// several ranges goes to the first of them: 4 units with the weights 1, 1, 1 become 2, 1, 1. Throws ConfigError
// if there are fewer units than weights or if a weight is 0. `what` names the units in the message. For
// example, "heads" becomes "a replica of 5 ranks needs at least 5 heads, ...".
std::vector<Range> cut_by_weights(std::size_t count, std::span<const std::size_t> weights,
                                  const std::string& what);

// Cuts `count` units into `parts` adjacent ranges whose lengths differ by at most one, longer ones first. The
// last ranges are empty if `count` is less than `parts`.
std::vector<Range> cut_evenly(std::size_t count, std::size_t parts);

// Assigns `count` equal work items (micro-batches) to workers (replicas), and returns the index of the worker
// of each item. `speeds` has the relative speed of each worker. Items are assigned in order. Each item goes to
// the worker that would finish it first, after the items that the worker already has. The worker with the lower
// index wins ties. This rule minimizes the time until all items are finished. If the speeds are integers that
// add up to `count`, each worker gets a number of items equal to its speed.
std::vector<std::size_t> assign_turns(const std::vector<double>& speeds, std::size_t count);

// Returns the number of items per worker by the rule of assign_turns(), except that each worker first gets one
// item. This exception does not apply if there are fewer items than workers.
std::vector<std::size_t> count_turns(const std::vector<double>& speeds, std::size_t count);

}  // namespace trireme::layout
