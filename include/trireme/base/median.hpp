// The middle one of some measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace trireme {

// Of an even number the upper one; there is at least one.
inline double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace trireme
