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

// Returns `parts` parts, which may be empty. Items are indices of `weights`. Uses the Karmarkar-Karp method
// (largest differencing). Then moves or swaps items between the heaviest part and another part, as long as this
// lowers the larger one of their sums. No part gets more than `max_items` items; `parts` * `max_items` must
// suffice for all items.
std::vector<Part> share_evenly(const std::vector<std::int64_t>& weights, std::size_t parts,
                               std::size_t max_items);

}  // namespace trireme::policy
