// What a rank remembers of what it leaves out, beside its part of the model: for checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/device/tensor.hpp"

namespace trireme {

struct ResizingState {
    std::size_t period = 0;               // how many have begun behind the first
    std::vector<double> variation = {};   // of the channels of all projections, one after the other
    std::vector<std::uint8_t> kept = {};  // likewise: 1 or 0
    std::vector<std::uint64_t> last_rows =
        {};                           // of each projection, where gradients are remembered; else empty
    std::vector<Tensor> memory = {};  // vectors, where they lie: weights of long ago, and gradients
};

}  // namespace trireme
