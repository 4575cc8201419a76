// Everything that is known before the first step: checked, counted and opened.
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

// A checkpoint keeps this summary of the steps of earlier starts for the next start.
struct EarlierSteps {
    std::size_t count = 0;
    std::optional<double> first_loss = {};  // none: no step had one, or it is not known
    std::vector<double> left_out = {};      // of each rank's products, summed over the steps; empty: nothing
};

// How a run came to the plan that it is in.
struct PlanOrigin {
    std::string hash;            // of the plan of the options
    layout::Layout layout = {};  // of that plan, which counts every rank as healthy
    std::optional<plan::Decision> decision =
        {};  // the last one; empty if the run is in the plan of its options
    // The slowness of ranks and for how many steps it has lasted, if the run resumes in the plan of its
    // checkpoint; otherwise empty.
    std::vector<double> slowness = {};
    std::size_t steady_steps = 0;
    std::string words = {};  // which plan a resumed run begins in, and why; empty if there is nothing to say
};

// A run from its first step to its last: its options, model and data. Nothing of it changes after set-up.
struct Job {
    config::RunConfig config;
    model::ModelConfig model;
    std::optional<checkpoint::StoredModel> stored;  // gives the first parameters; empty if they are random
    std::optional<data::Corpus> corpus;             // empty for ghosts, whose samples are made up
    std::optional<data::Tokenizer> tokenizer;       // of the corpus, unless it holds images
    data::SampleIndex samples;
    data::BatchRules train_rules, validation_rules;
    device::DType dtype = device::DType::f32;
    device::MemorySpace place = device::MemorySpace::host;  // of tensors
    layout::BucketRules buckets = {};
    std::size_t steps = 0;
    bool resumes = false;                        // `stored` is a checkpoint of this run
    std::optional<std::size_t> kept_steps = {};  // whose records in the run directory stay; empty: it is new
    std::size_t first_step = 0;                  // the number of steps done before this start
    EarlierSteps earlier = {};                   // of all earlier starts of the run
    std::string rate_change = {};                // how a resumed run changes its learning rates, if it does
    std::optional<SimulatedDevices> devices =
        {};                                   // whose time kernels take; empty: kernels take their own time
    RankKernels kernels = {};                 // measured times on these devices, if there are any
    std::shared_ptr<rank::RankGpu> gpu = {};  // of this rank, shared by copies; null: it uses none
    SlowRun slow = {};                        // deliberate slowness, which no decision may read
};

// The plan that a run is in, and what follows from it. A change of plan replaces all of it.
struct PlanState {
    plan::Plan plan;
    std::size_t microbatch_samples = 1;           // of the largest micro-batch
    std::vector<stage::BatchShape> largest = {};  // micro-batches that a step and an evaluation may hold
    stage::GradientPlan gradients = {};
};

struct Setup {
    Job job;
    PlanState current;  // the first plan
    PlanOrigin origin = {};
    bool goes_on_resizing = false;  // ranks go on with the channels that the checkpoint says they prune
};

device::DType dtype_of(config::Precision precision);
device::MemorySpace memory_space_of(config::DeviceKind device);  // of tensors

// Tokens of the longest sample: --max-length, or the model's positions. Throws ConfigError for more than these,
// and for more samples a step than anyone has.
std::size_t longest_sample(const config::RunConfig& config, const model::ModelConfig& model);
void check_batch_size(const config::RunConfig& config);

// The number of samples in the largest micro-batch of a plan, for `batch` samples a step.
std::size_t samples_of_microbatch(std::size_t batch, const plan::Plan& plan);

// Micro-batches of so many samples, of training and of evaluation, with the most rows.
std::vector<stage::BatchShape> largest_microbatches(const Job& job, std::size_t samples);

// Throws ConfigError where a step of `batch` samples has fewer samples than micro-batches.
void check_batch_is_enough(std::size_t batch, const plan::Plan& plan, const PlanRequest& request);

// Sets up a training on `ranks` ranks, whose parameters come from `checkpoint` if there is one, and otherwise
// from --init. Throws ConfigError for options that cannot be used. Communicates nothing.
Setup set_up(const config::RunConfig& config, int ranks,
             const std::optional<std::string>& checkpoint = std::nullopt);
// Sets up an evaluation, which has no sample to train on.
Setup set_up_evaluation(const config::EvaluateConfig& config, int ranks);
// Says which rank --slow makes slow in that run, and when. Throws ConfigError.
SlowRun slow_run_of(const Job& job, int ranks);

// Collective over `control`. Throws ConfigError on every rank if the ranks have opened different corpora,
// resume from different steps, or have made different plans. Does nothing in a simulation, whose ranks share
// one process and its files.
void require_same_setup(comm::Communicator& control, const Setup& setup);

}  // namespace trireme::setup
