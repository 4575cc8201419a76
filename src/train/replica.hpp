// One rank's copy of the model and what it does in a step.
#pragma once

#include <memory>
#include <vector>

#include "train/evaluation.hpp"
#include "train/setup.hpp"
#include "trireme/checkpoint/checkpoint_writer.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/data/sampler.hpp"
#include "trireme/optim/optimizer.hpp"

namespace trireme {

Stream make_stream(DeviceKind device, int threads);

// What a rank will hold, in bytes, by what it is for.
struct MemoryPlan {
    StageMemory stage;
    std::size_t optimizer = 0;
    std::size_t communication = 0;

    std::size_t total() const;
};

MemoryPlan plan_memory(const Setup& setup, const OptimizerConfig& optimizer, const Communicator& data_group);

// How much a step had to do.
struct StepSize {
    std::size_t tokens = 0;        // rows of real samples, over all replicas
    std::size_t targets = 0;       // terms of the loss
    double square_length_sum = 0;  // of the samples
};

// What came of a step. Equal on all ranks.
struct StepOutcome {
    double loss = 0;  // per target
    double gradient_norm = 0;
    double rate = 0;
    bool is_skipped = false;  // something was not finite, and the update was left out
    StepSize size = {};
    std::size_t padded_tokens = 0;  // computed, over all replicas
    double seconds = 0;             // of the slowest rank
    double compute_seconds = 0;     // in kernels; mean over the ranks
    double wait_seconds = 0;        // for other ranks; mean over the ranks
    std::size_t peak_bytes = 0;     // resident since the start; of the largest rank
};

class Replica {
public:
    Replica(const RunConfig& config, const Setup& setup, const MemoryPlan& memory, int threads);

    // Collective over `data_group`. Step number `step` (from 0).
    StepOutcome step(std::size_t step, Communicator& data_group);

    // Collective over `data_group`. On the validation samples.
    Evaluation evaluate(Communicator& data_group);

    // Every replica holds the same parameters; one of them writes.
    void save(CheckpointWriter& writer) const;

private:
    struct Work;  // what this replica adds to a step

    StepOutcome begin_step(std::size_t step, const std::vector<SampleVisit>& visits);
    Work forward_backward(const std::vector<SampleVisit>& visits, double loss_scale,
                          const Communicator& data_group);
    void sum_gradients(Communicator& data_group);
    void update(StepOutcome& outcome);
    void observe(StepOutcome& outcome, double begin, const Work& work, Communicator& data_group) const;

    const RunConfig& config_;
    const Setup& setup_;
    Stream stream_;
    Stage stage_;
    Optimizer optimizer_;
    Sampler sampler_;
    Arena communication_;
};

}  // namespace trireme
