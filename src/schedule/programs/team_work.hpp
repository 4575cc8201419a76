// What a shape asks of each team, and which shapes are regular.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

struct TeamWork {
    int stage = -1;                 // the only one that the team holds; -1: none
    std::vector<int> microbatches;  // that it executes, ascending
};

// Per team; nothing where a team holds more than one stage.
std::optional<std::vector<TeamWork>> one_stage_each(const PipelineShape& shape);

// Equal rows of teams.
struct RegularShape {
    int pipe = 1;
    int replicas = 1;
    int chunks = 1;  // 2 of a V
    int microbatches_each = 1;
};

// The arguments with which grid_shape(), or v_shape(), makes `shape`; nothing where it does not.
std::optional<RegularShape> grid_behind(const PipelineShape& shape);
std::optional<RegularShape> v_behind(const PipelineShape& shape);

}  // namespace trireme::schedule
