// The work of each team in a shape, and tests for regular shapes.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

struct TeamWork {
    int stage = -1;                 // the only one that the team holds; -1 if none
    std::vector<int> microbatches;  // executed by the team, ascending
};

// Returns the work per team, or nothing if a team holds more than one stage.
std::optional<std::vector<TeamWork>> one_stage_each(const PipelineShape& shape);

// Equal rows of teams.
struct RegularShape {
    int pipe = 1;
    int replicas = 1;
    int chunks = 1;  // 2 in a V
    int microbatches_each = 1;
};

// Return the arguments with which grid_shape() or v_shape() makes `shape`, or nothing if there are none.
std::optional<RegularShape> grid_behind(const PipelineShape& shape);
std::optional<RegularShape> v_behind(const PipelineShape& shape);

}  // namespace trireme::schedule
