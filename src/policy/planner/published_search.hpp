// The time model and the search of FlexPipe's published rule.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/proposers/cut_stages.hpp"
#include "trireme/layout/layout.hpp"

namespace trireme::policy {

// Returns the smallest number of stages, from 1 on, whose pooled memory exceeds the peak. Returns `teams` if no
// number up to `teams` is large enough.
std::size_t find_fewest_stages(double peak_bytes, double team_bytes, std::size_t teams);

// The sizes on which the bounds of the search depend.
struct PublishedSizes {
    std::size_t blocks = 0;
    std::size_t teams = 0;
    std::size_t max_blocks = 0;  // largest number of blocks of a stage that fit on one team
};

// Returns the corrected bounds of the search for cuts into `stages` stages. A run is a block.
CutBounds make_published_bounds(const PublishedSizes& sizes, std::size_t stages);

// Returns the seconds of a step by Eq. (1) of FlexPipe: see decide_published(). Ignores the cuts and the bounds
// of `costs`, and its slowness per team. `slowness` has one value per rank, or is empty if no rank is slow.
double compute_published_seconds(const layout::Layout& layout, const CutProblem& costs,
                                 const std::vector<double>& slowness);

}  // namespace trireme::policy
