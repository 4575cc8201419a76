// The inputs of LocalStages: LocalWork per plan, Execution per execution of a program, StepWork per step.
#pragma once

#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// The work that a plan assigns to one rank.
struct LocalWork {
    model::ModelConfig model;
    std::vector<int> stages = {};       // indices of the rank's stages, ascending
    std::vector<StageSpec> specs = {};  // one per entry of `stages`
    int team = 0;                       // index of the rank's team; -1 if the rank is idle
    device::DType dtype = device::DType::f32;
    StageMemory memory = {};   // per field, the maximum over the stages of the rank
    std::size_t max_rows = 0;  // maximum rows per micro-batch that this rank exchanges with another stage
    CopyCounts copies = {};
};

// Functions that the execution of a training program calls. An execution numbers its steps from 0.
class StepEvents {
public:
    virtual ~StepEvents() = default;
    // Updates the parameters of all stages of the rank. Called at the first STEP instruction of a step.
    virtual void update(int step) = 0;
    // Validates the speculative update of a step. Returns true if the update was valid; otherwise rolls it back
    // and redoes it. Called at the first VALIDATE instruction of a step.
    virtual bool validate(int step) = 0;
    // Called after the forward pass and after the backward pass of each layer.
    virtual void after_layer() {}
};

// One segment of training steps, or one evaluation. No micro-batch is in flight at its start or end.
struct Execution {
    const schedule::PipelineShape& shape;  // stages, teams and micro-batches of one step
    const schedule::Program& program;      // program of the rank's team for a single step
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    StepEvents* events = nullptr;  // null if parameters are not updated, as in evaluations
};

// The micro-batches of one step. The micro-batches must stay valid until LocalStages::take_outcomes() is called
// for the step.
struct StepWork {
    std::vector<const model::TokenBatch*> batches;  // an empty micro-batch has 0 rows, or is null
    double loss_scale = 1;                          // see model::Pass
};

}  // namespace trireme::stage
