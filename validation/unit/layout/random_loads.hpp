// Layers with random costs, which are whole numbers so that sums are exact.
#pragma once

#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::validation {

inline std::vector<layout::LayerLoad> random_loads(std::size_t layers, std::uint64_t seed) {
    std::vector<layout::LayerLoad> loads;
    for (std::size_t l = 0; l < layers; ++l) {
        const RandomBlock first = random_block(RandomKey{seed}, 2 * l);
        const RandomBlock second = random_block(RandomKey{seed}, 2 * l + 1);
        const double forward = first[0] % 16;
        loads.push_back({.seconds = forward + first[1] % 32,
                         .forward_seconds = forward,
                         .update_seconds = 16.0 * (first[2] % 16),
                         .row_bytes = 8 * (first[3] % 8),
                         .parameter_bytes = 16 * (second[0] % 64),
                         .activation_bytes = second[1] % 32,
                         .state_bytes = second[2] % 128,
                         .workspace_bytes = second[3] % 16});
    }
    return loads;
}

}  // namespace trireme::validation
