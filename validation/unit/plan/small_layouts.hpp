// Layouts whose numbers can be checked by hand.
#pragma once

#include <string>
#include <vector>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme {

// Two layers a stage.
inline Layout even_grid(const Grid& grid) {
    const auto stages = static_cast<std::size_t>(grid.pipe) * static_cast<std::size_t>(grid.chunks);
    return grid_layout(grid, std::vector<std::size_t>(stages, 2));
}

// Two layers a stage, as many replicas of each as are named, of one rank each; ranks stage by stage.
inline Layout uneven_layout(const std::vector<int>& replicas) {
    Layout layout;
    int rank = 0;
    for (const int count : replicas) {
        StageLayout& stage = layout.stages.emplace_back(StageLayout{{layout.layers, 2}});
        for (int r = 0; r < count; ++r) stage.replicas.push_back({{rank++}, {1}});
        layout.layers += 2;
    }
    return layout;
}

inline Phases programs_in(const std::string& csv) { return phases_from_csv(csv, "my.csv"); }

inline std::string refusal_of_plan(const PlanWish& wish) {
    return validation::message_of<ConfigError>([&] { make_plan(wish); });
}

}  // namespace trireme
