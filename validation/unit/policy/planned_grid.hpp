// Plans for policies, which read of a plan who holds what and who executes what, and no programs.
#pragma once

#include "trireme/plan/plan.hpp"

namespace trireme {

// 51 layers, cut evenly.
inline Plan plan_of(const Grid& grid, int micro_batches_each = 1) {
    constexpr std::size_t layers = 51;
    const auto stages = static_cast<std::size_t>(grid.pipe * grid.chunks);
    std::vector<std::size_t> cuts(stages, layers / stages);
    cuts.back() += layers % stages;
    Plan plan;
    plan.layout = grid_layout(grid, cuts);
    plan.teams = teams_of(plan.layout);
    plan.training.shape = grid_shape(grid.pipe, grid.data, grid.chunks, micro_batches_each);
    plan.training.programs.resize(plan.teams.size());
    plan.training.prologue.resize(plan.teams.size());
    return plan;
}

}  // namespace trireme
