// The work of a rank's stages: for a plan, for a round of steps, and for a step.
#pragma once

#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// A rank's part of a plan.
struct LocalWork {
    model::ModelConfig model;
    std::vector<int> stages = {};       // ascending
    std::vector<StageSpec> specs = {};  // per stage
    int team = 0;
    device::DType dtype = device::DType::f32;
    StageMemory memory = {};    // maximum over its stages
    std::size_t most_rows = 0;  // maximum number of the rank's own rows of a micro-batch
    Copies copies = {};         // copies of its parameters
};

// Called between the instructions of a training program.
class StepEvents {
public:
    virtual ~StepEvents() = default;
    // Updates the parameters of all stages; called once per step, at its first STEP.
    virtual void update(int step) = 0;
    // Returns true if the speculative update was valid; otherwise it has been redone. Called at the first
    // VALIDATE of a step.
    virtual bool validate(int step) = 0;
    // Called after each layer, forward and backward.
    virtual void after_layer() {}
};

// A sequence of steps (a segment), or one evaluation. No micro-batch is in flight at its start or end.
struct Round {
    const schedule::PipelineShape& shape;  // shape of one step
    const schedule::Program& program;      // program of one step by itself
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    StepEvents* events = nullptr;  // null if the parameters are not updated
};

// The micro-batches of one step.
struct StepWork {
    std::vector<const model::TokenBatch*> batches;  // null if a micro-batch is empty
    double loss_scale = 1;
};

}  // namespace trireme::stage
