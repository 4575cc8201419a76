// The input of LocalStages: per plan, per execution of a program, and per step.
#pragma once

#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// The work that a plan assigns to one rank.
struct LocalWork {
    model::ModelConfig model;
    std::vector<int> stages = {};       // ascending
    std::vector<StageSpec> specs = {};  // per stage
    int team = 0;                       // index of the rank's team
    device::DType dtype = device::DType::f32;
    StageMemory memory = {};   // maximum over the stages of the rank
    std::size_t max_rows = 0;  // maximum number of rows that this rank computes per micro-batch
    CopyCounts copies = {};    // numbers of copies of the rank's parameters
};

// Functions that the execution of a training program calls.
class StepEvents {
public:
    virtual ~StepEvents() = default;
    // Updates the parameters of all stages; called once per step, at the first STEP instruction.
    virtual void update(int step) = 0;
    // Validates the speculative update of a step. Returns true if the update was valid; otherwise rolls it back
    // and redoes it. Called at the first VALIDATE instruction of a step.
    virtual bool validate(int step) = 0;
    // Called after each layer, forward and backward.
    virtual void after_layer() {}
};

// One segment of training steps, or one evaluation. No micro-batch is in flight at its start or end.
struct Execution {
    const schedule::PipelineShape& shape;  // micro-batches and stages of one step
    const schedule::Program& program;      // this team's program of a single step
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    StepEvents* events = nullptr;  // null in evaluations and if parameters are not updated
};

// The micro-batches of one step.
struct StepWork {
    std::vector<const model::TokenBatch*> batches;  // per micro-batch; null if it is empty
    double loss_scale = 1;
};

}  // namespace trireme::stage
