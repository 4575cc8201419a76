// What a rank's stages are given to do: of a plan, of a round of steps, of a step.
#pragma once

#include <functional>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme {

// What a rank has been given.
struct LocalWork {
    ModelConfig model;
    std::vector<int> stages = {};       // ascending
    std::vector<StageSpec> specs = {};  // of each of them
    int team = 0;
    DType dtype = DType::f32;
    StageMemory memory = {};    // the largest of its stages
    std::size_t most_rows = 0;  // of its own, of a micro-batch
    Copies copies = {};         // of its parameters
};

// What programs are executed for, from a beginning with nothing in flight to an end like that.
struct Round {
    const PipelineShape& shape;  // of one step
    const Program& program;      // what one step is, taken by itself
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    // The parameters of all stages, at the first of the step's STEPs; and, where that goes ahead of what it has
    // to know, whether it was right, at the first of its VALIDATEs.
    std::function<void(int step)> update = {};
    std::function<bool(int step)> validate = {};
};

// The micro-batches of one step.
struct StepWork {
    std::vector<const TokenBatch*> batches;  // none where it is empty
    double loss_scale = 1;
};

}  // namespace trireme
