// The shapes that properties of schedules are tried on, and what a schedule makes of one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

struct GridNumbers {
    int pipe = 1;
    int chunks = 1;
    int microbatches = 1;

    std::string text() const;
};

// pipe 1..8, chunks from `least_chunks` to 3, micro-batches 1..24
std::vector<GridNumbers> every_grid(int least_chunks, int most_chunks);

// 1..3 replicas over 1..4 stages, 1..12 micro-batches
std::vector<PipelineShape> every_uneven_shape(bool is_training);
std::string text_of_uneven(const PipelineShape& shape);

// The compute instructions of each team.
std::vector<std::string> texts_of(const Schedule& kind, const PipelineShape& shape);

// Why the schedule's programs are not proved with the slots that the shape has; empty: they are.
std::string fault_of(const Schedule& kind, const PipelineShape& shape);

// The fewest slots with which the schedule's programs are proved.
int fewest_slots(const Schedule& kind, PipelineShape shape);

}  // namespace trireme::schedule
