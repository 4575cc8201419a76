// Layouts drawn at random: cuts between any two layers, uneven replicas and shares, idle ranks.
#pragma once

#include <cstdint>

#include "trireme/layout/layout.hpp"

namespace trireme::validation {

struct LayoutBounds {
    std::size_t ranks = 1;
    std::size_t layers = 1;         // of the model
    std::size_t most_shares = 1;    // of a replica
    std::size_t most_replicas = 1;  // of a stage
};

layout::Layout random_layout(std::uint64_t seed, const LayoutBounds& bounds);

}  // namespace trireme::validation
