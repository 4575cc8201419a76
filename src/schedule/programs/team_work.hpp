// The stage and micro-batches of each team of a pipeline shape, and tests for regular shapes.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

struct TeamWork {
    int stage = -1;                 // the only stage that the team holds; -1 if it holds none
    std::vector<int> microbatches;  // those that the team executes, ascending, over all steps of the shape
};

// Returns the work per team, or nothing if a team holds more than one stage.
std::optional<std::vector<TeamWork>> find_team_work(const PipelineShape& shape);

// The sizes of a shape that consists of equal pipeline replicas.
struct ReplicaGrid {
    int pipe = 1;               // teams per pipeline replica
    int replicas = 1;           // pipeline replicas
    int chunks = 1;             // stages per team; 2 in a V
    int microbatches_each = 1;  // per pipeline replica and step
};

// Return the arguments with which make_grid_shape() or make_v_shape() builds `shape`, or nothing if there are
// no such arguments.
std::optional<ReplicaGrid> find_replica_grid(const PipelineShape& shape);
std::optional<ReplicaGrid> find_v_grid(const PipelineShape& shape);

}  // namespace trireme::schedule
