// Layouts whose numbers can be checked by hand.
#pragma once

#include <string>
#include <vector>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme::plan {

// Returns a grid with two layers per stage.
inline layout::Layout even_grid(const layout::Grid& grid) {
    const auto stages = static_cast<std::size_t>(grid.pipe) * static_cast<std::size_t>(grid.chunks);
    return make_grid_layout(grid, std::vector<std::size_t>(stages, 2));
}

// Returns a layout with two layers and replicas[s] replicas of one rank in each stage s. Ranks are numbered
// stage by stage.
inline layout::Layout uneven_layout(const std::vector<int>& replicas) {
    layout::Layout layout;
    int rank = 0;
    for (const int count : replicas) {
        layout::StageLayout& stage = layout.stages.emplace_back(layout::StageLayout{{layout.layers, 2}});
        for (int r = 0; r < count; ++r) stage.replicas.push_back({{rank++}, {1}});
        layout.layers += 2;
    }
    return layout;
}

inline schedule::Phases programs_in(const std::string& csv) {
    return schedule::parse_phases_csv(csv, "my.csv");
}

inline std::string refusal_of_plan(const PlanWish& wish) {
    return validation::catch_message<ConfigError>([&] { make_plan(wish); });
}

}  // namespace trireme::plan
