// Selects values of some ranks.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::policy {

// Returns the values of the given ranks, or `otherwise` for each if `all` is empty.
inline std::vector<double> of_ranks(const std::vector<int>& ranks, const std::vector<double>& all,
                                    double otherwise) {
    std::vector<double> own;
    for (const int rank : ranks) own.push_back(all.empty() ? otherwise : all[static_cast<std::size_t>(rank)]);
    return own;
}

}  // namespace trireme::policy
