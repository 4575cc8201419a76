// Distributes items over parts so that the sums of their weights are almost equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trireme::policy {

struct Part {
    std::int64_t sum = 0;  // of the weights of its items
    std::vector<std::size_t> items = {};
};

// Returns all parts, whose items are indices of `weights`. Uses the Karmarkar-Karp method (largest
// differencing), and then moves and swaps items while this lowers the heavier one of two sums. No part gets
// more than `max_items` items; `parts` * `max_items` must suffice for all items.
std::vector<Part> share_evenly(const std::vector<std::int64_t>& weights, std::size_t parts,
                               std::size_t max_items);

}  // namespace trireme::policy
