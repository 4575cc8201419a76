// The inputs of LocalStages: LocalWork per plan, Execution per execution of a program, StepWork per step.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::stage {

// Buffers of one size per kind. A program whose steps have common buffers uses such buffers, because the sizes
// of the buffers that become free do not depend on the steps then.
struct EqualBuffers {
    StageMemory sizes = {};  // of the workspace and of a stash
    std::size_t stashes = 0;
    std::size_t row_bytes = 0;  // of an activation or a gradient that ranks exchange
    std::size_t rows = 0;       // number of buffers for such activations and gradients

    std::size_t count_bytes() const;
};

// The work that a plan assigns to one rank.
struct LocalWork {
    model::ModelConfig model;
    std::vector<int> stages = {};       // indices of the rank's stages, ascending
    std::vector<StageSpec> specs = {};  // one per entry of `stages`
    int rank = 0;                       // in the job
    int team = 0;                       // index of the rank's team; -1 if the rank is idle
    PassVariant variant = {};           // `halves` is ignored
    CopyCounts copies = {};
    std::size_t max_step_bytes = std::numeric_limits<std::size_t>::max();  // limit of StepMemory::bytes
    // Optimizer state that may be offloaded during a step. During steps it lies in the last of the
    // `max_step_bytes` bytes.
    std::size_t offloadable_bytes = 0;
    // Set only if buffers of several steps of training are in use at the same time.
    std::optional<EqualBuffers> equal_buffers = {};
};

std::vector<Stage> make_stages(const LocalWork& work);
// Returns the parameters of these stages. `values` is that of LocalParameters.
LocalParameters make_local_parameters(const LocalWork& work, device::MemorySpace memory_space,
                                      std::optional<model::ParameterTensors> values = {});

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
    StepEvents* events = nullptr;        // null if parameters are not updated, as in evaluations
    std::optional<CacheUse> cache = {};  // see Stage::forward()
};

// The micro-batches of one step. The micro-batches must stay valid until LocalStages::take_outcomes() is called
// for the step.
struct StepWork {
    std::vector<const model::TokenBatch*> batches = {};  // an empty micro-batch has 0 rows, or is null
    double loss_scale = 1;                               // see model::Pass
    std::vector<plan::MicrobatchLevels> levels = {};     // per micro-batch; empty: the levels of StageSpec
    bool offloads_state = false;  // the step puts buffers in the place of optimizer state on some rank
};

}  // namespace trireme::stage
