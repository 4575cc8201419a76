#include "run/stretch.hpp"

#include <algorithm>

namespace trireme {

std::size_t longest_stretch(std::size_t first, std::size_t next_chance, const Plan& plan,
                            const RunOptions& run) {
    constexpr std::size_t most_micro_batches = 1 << 30;  // that a stretch numbers
    const auto each = static_cast<std::size_t>(plan.micro_batches());
    std::size_t end = std::min(next_chance, first + most_micro_batches / each);
    for (const std::size_t period : {run.eval_every, run.checkpoint_every}) {
        if (period > 0) end = std::min(end, (first / period + 1) * period);
    }
    return end;
}

}  // namespace trireme
