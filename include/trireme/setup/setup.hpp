// Set-up of a run: checks options, opens files and makes the first plan before the first step.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/config/config.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/profiled_kernels.hpp"
#include "trireme/setup/simulated_device.hpp"
#include "trireme/setup/slow_ranks.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::rank {
class RankGpu;
}

namespace trireme::setup {

// Summary of the steps of earlier starts. Checkpoints keep it for the next start.
struct EarlierSteps {
    std::size_t count = 0;
    std::optional<double> first_loss = {};  // empty if unknown, or if no step had a loss
    std::vector<double> left_out = {};  // skipped fraction of matmuls per rank, summed over steps; may be empty
};

// The origin of a run's current plan.
struct PlanOrigin {
    std::string hash;            // hash of the plan of the options
    layout::Layout layout = {};  // layout of that plan, which assumes that no rank is slow
    // The latest decision; empty if the run uses the plan of its options.
    std::optional<plan::Decision> decision = {};
    // Slowness per rank and the steps that it has lasted, if the run resumes with the plan of its checkpoint;
    // otherwise empty.
    std::vector<double> slowness = {};
    std::size_t steady_steps = 0;
    std::string words = {};  // which plan a resumed run begins with, and why; may be empty
};

// Options, model and data of a run. Constant after set-up.
struct Job {
    config::RunConfig config;
    model::ModelConfig model;
    std::optional<checkpoint::StoredModel> stored;  // source of the first parameters; empty if they are random
    std::optional<data::Corpus> corpus;             // empty for ghosts with synthetic samples
    std::optional<data::Tokenizer> tokenizer;       // tokenizer of the corpus, unless it holds images
    data::SampleIndex samples;
    data::BatchRules train_rules, validation_rules;
    device::DType dtype = device::DType::f32;
    device::MemorySpace place = device::MemorySpace::host;  // memory space of tensors
    layout::BucketRules buckets = {};
    std::size_t steps = 0;
    bool resumes = false;                        // `stored` is a checkpoint of this run
    std::optional<std::size_t> kept_steps = {};  // keep the records of this many steps; empty for a new run
    std::size_t first_step = 0;                  // number of steps done before this start
    EarlierSteps earlier = {};                   // summary of all earlier starts of the run
    std::string rate_change = {};                // how a resumed run changes its learning rates, if it does
    // Simulated devices; if empty, kernels take their real time.
    std::optional<SimulatedDevices> devices = {};
    RankKernels kernels = {};                 // measured times on these devices, if any
    std::shared_ptr<rank::RankGpu> gpu = {};  // GPU of this rank, shared by copies; may be null
    SlowRun slow = {};                        // emulated slowness, which no decision may read
};

// The current plan and what follows from it. A change of plan replaces all of it.
struct PlanState {
    plan::Plan plan;
    std::size_t microbatch_samples = 1;           // samples of the largest micro-batch
    std::vector<stage::BatchShape> largest = {};  // largest micro-batches of a step and of an evaluation
    stage::GradientPlan gradients = {};
};

struct Setup {
    Job job;
    PlanState current;  // the first plan
    PlanOrigin origin = {};
    bool goes_on_resizing = false;  // ranks resume with the pruned channels of the checkpoint
};

device::DType dtype_of(config::Precision precision);
device::MemorySpace memory_space_of(config::DeviceKind device);  // memory space of tensors

// Returns the tokens of the longest sample: --max-length, or the model's positions. Throws ConfigError if
// --max-length exceeds them.
std::size_t longest_sample(const config::RunConfig& config, const model::ModelConfig& model);
// Throws ConfigError if --batch exceeds 2^24 samples.
void check_batch_size(const config::RunConfig& config);

// Returns the number of samples in the largest micro-batch of a plan for `batch` samples per step.
std::size_t samples_of_microbatch(std::size_t batch, const plan::Plan& plan);

// Returns the shapes of micro-batches of `samples` samples with the most rows, of training and of evaluation.
std::vector<stage::BatchShape> largest_microbatches(const Job& job, std::size_t samples);

// Throws ConfigError if a step of `batch` samples has fewer samples than micro-batches.
void check_batch_is_enough(std::size_t batch, const plan::Plan& plan, const PlanRequest& request);

// Sets up training on `ranks` ranks. Parameters come from `checkpoint` if set, otherwise from --init. Throws
// ConfigError if options cannot be used. Communicates nothing.
Setup set_up(const config::RunConfig& config, int ranks,
             const std::optional<std::string>& checkpoint = std::nullopt);
// Sets up an evaluation, for which no sample is needed for training.
Setup set_up_evaluation(const config::EvaluateConfig& config, int ranks);
// Returns which ranks --slow slows in which steps of the run. Throws ConfigError.
SlowRun slow_run_of(const Job& job, int ranks);

// Collective over `control`. Throws ConfigError on every rank if the ranks have opened different corpora,
// resume from different steps, or have made different plans. Does nothing in a simulation, whose ranks share
// one process and its files.
void require_same_setup(comm::Communicator& control, const Setup& setup);

}  // namespace trireme::setup
