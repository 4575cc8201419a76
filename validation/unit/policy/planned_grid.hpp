// Plans for tests of policies.
#pragma once

#include "trireme/plan/plan.hpp"

namespace trireme::policy {

// Returns a plan of 51 layers, cut evenly; the last stage gets the remainder.
inline plan::Plan plan_of(const layout::Grid& grid, int microbatches_each = 1) {
    constexpr std::size_t layers = 51;
    const auto stages = static_cast<std::size_t>(grid.pipe * grid.chunks);
    std::vector<std::size_t> cuts(stages, layers / stages);
    cuts.back() += layers % stages;
    return plan::make_plan({.layout = make_grid_layout(grid, cuts),
                            .schedule = grid.chunks > 1 ? "interleaved" : "1f1b",
                            .microbatches = microbatches_each});
}

}  // namespace trireme::policy
