// A checkpoint keeps this summary of the steps of earlier starts for the next start.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace trireme {

struct EarlierSteps {
    std::size_t count = 0;
    std::optional<double> first_loss = {};  // none: no step had one, or it is not known
    std::vector<double> left_out = {};      // of each rank's products, summed over the steps; empty: nothing
};

}  // namespace trireme
