// What a rank's stages are given to do: of a plan, of a round of steps, of a step.
#pragma once

#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// What a rank has been given.
struct LocalWork {
    model::ModelConfig model;
    std::vector<int> stages = {};       // ascending
    std::vector<StageSpec> specs = {};  // of each of them
    int team = 0;
    device::DType dtype = device::DType::f32;
    StageMemory memory = {};    // the largest of its stages
    std::size_t most_rows = 0;  // of its own, of a micro-batch
    Copies copies = {};         // of its parameters
};

// Called between the instructions of a training program.
class StepEvents {
public:
    virtual ~StepEvents() = default;
    // Updates the parameters of all stages; called once per step, at its first STEP.
    virtual void update(int step) = 0;
    // Returns whether an update that did not wait for the norm was right; called at the first VALIDATE of a
    // step.
    virtual bool validate(int step) = 0;
    // Called after each layer, forward and backward.
    virtual void after_layer() {}
};

// What programs are executed for, from a beginning with nothing in flight to an end like that.
struct Round {
    const schedule::PipelineShape& shape;  // of one step
    const schedule::Program& program;      // what one step is, taken by itself
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    StepEvents* events = nullptr;  // null: the parameters stay as they are
};

// The micro-batches of one step.
struct StepWork {
    std::vector<const model::TokenBatch*> batches;  // none where it is empty
    double loss_scale = 1;
};

}  // namespace trireme::stage
