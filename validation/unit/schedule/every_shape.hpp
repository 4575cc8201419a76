// Shapes on which tests check properties of schedules, and the programs and faults of a schedule on a shape.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The numbers of a grid with one replica per stage.
struct GridSize {
    int pipe = 1;
    int chunks = 1;
    int microbatches = 1;

    std::string text() const;
};

// Returns all grids with pipe 1..8, `min_chunks`..`max_chunks` chunks and 1..24 micro-batches.
std::vector<GridSize> list_grids(int min_chunks, int max_chunks);

// Returns all shapes with 1..4 stages of 1..3 replicas each and 1..12 micro-batches.
std::vector<PipelineShape> list_uneven_shapes(bool is_training);
std::string describe_uneven_shape(const PipelineShape& shape);

// Returns the compute instructions of each team as text.
std::vector<std::string> texts_of(const Schedule& kind, const PipelineShape& shape);

// Returns why the schedule's programs are not proved with the slots of the shape; empty if they are proved.
std::string fault_of(const Schedule& kind, const PipelineShape& shape);

// Returns the fewest slots with which the schedule's programs are proved.
int find_min_slots(const Schedule& kind, PipelineShape shape);

}  // namespace trireme::schedule
