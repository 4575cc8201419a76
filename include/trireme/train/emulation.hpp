// What the machine is made to look like, to try things. Nothing that decides may read it: it has to see a slow
// rank in what was measured.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace trireme {

// A rank whose kernels take `factor` times as long in some steps, counted from 1.
struct SlowRank {
    int rank = 0;
    double factor = 1;
    std::size_t first_step = 1;
    std::optional<std::size_t> last_step = {};  // none: to the end
};

struct EmulationConfig {
    std::vector<SlowRank> slow;
};

}  // namespace trireme
