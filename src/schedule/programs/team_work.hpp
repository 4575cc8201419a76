// Finds the stage and the micro-batches of each team of a pipeline shape, and the sizes of a shape that is a
// grid or a V.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The work of a team that holds at most one stage.
struct TeamWork {
    int stage = -1;                 // -1 if the team holds no stage
    std::vector<int> microbatches;  // executed by the team; ascending, numbered over all steps
};

// Returns the work of each team, or nothing if a team holds more than one stage.
std::optional<std::vector<TeamWork>> find_team_work(const PipelineShape& shape);

// The sizes of a shape that consists of equal pipeline replicas.
struct ReplicaGrid {
    int pipe = 1;               // teams per pipeline replica
    int replicas = 1;           // pipeline replicas
    int chunks = 1;             // stages per team; 2 in a V
    int microbatches_each = 1;  // micro-batches per pipeline replica and step
};

// Returns the arguments with which make_grid_shape() makes the holders and the executors of `shape`. Returns
// nothing if `shape` is not a grid.
std::optional<ReplicaGrid> find_replica_grid(const PipelineShape& shape);
// Returns the arguments with which make_v_shape() makes the holders and the executors of `shape`. `chunks`
// is 2. Returns nothing if `shape` is not a V.
std::optional<ReplicaGrid> find_v_grid(const PipelineShape& shape);

}  // namespace trireme::schedule
