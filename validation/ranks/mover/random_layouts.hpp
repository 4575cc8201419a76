// Random layouts with arbitrary cuts, uneven replicas and shares, and idle ranks.
#pragma once

#include <cstdint>

#include "trireme/layout/layout.hpp"

namespace trireme::validation {

struct LayoutBounds {
    std::size_t ranks = 1;
    std::size_t layers = 1;        // number of the model's layers
    std::size_t max_shares = 1;    // maximum number of ranks per replica
    std::size_t max_replicas = 1;  // maximum number of replicas per stage
};

layout::Layout make_random_layout(std::uint64_t seed, const LayoutBounds& bounds);

}  // namespace trireme::validation
