// Numbers of some of all ranks.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::policy {

// One for each rank that is named, of a list that may be empty.
inline std::vector<double> of_ranks(const std::vector<int>& ranks, const std::vector<double>& all,
                                    double otherwise) {
    std::vector<double> own;
    for (const int rank : ranks) own.push_back(all.empty() ? otherwise : all[static_cast<std::size_t>(rank)]);
    return own;
}

}  // namespace trireme::policy
