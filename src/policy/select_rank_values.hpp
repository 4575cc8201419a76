// Selects the values of some ranks from a list with one value per rank.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::policy {

// Returns the values of `ranks` from `all_values`, which has one value per rank of the job. If `all_values` is
// empty, returns `default_value` for each of `ranks`.
inline std::vector<double> select_rank_values(const std::vector<int>& ranks,
                                              const std::vector<double>& all_values, double default_value) {
    std::vector<double> values;
    for (const int rank : ranks)
        values.push_back(all_values.empty() ? default_value : all_values[static_cast<std::size_t>(rank)]);
    return values;
}

}  // namespace trireme::policy
