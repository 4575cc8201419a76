// What is known of a run between two steps.
#pragma once

#include <cstddef>

namespace trireme {

// The same on every rank.
struct Observation {
    std::size_t step = 0;  // how many have been made
};

}  // namespace trireme
