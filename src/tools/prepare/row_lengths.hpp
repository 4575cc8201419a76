// How long the rows of a corpus are.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme {

struct RowLengths {
    std::uint64_t shortest = 0, p50 = 0, p90 = 0, p99 = 0, longest = 0;
};

// Percentiles by nearest rank; zeros where there are no rows.
RowLengths summarise(std::vector<std::uint64_t> lengths);

}  // namespace trireme
