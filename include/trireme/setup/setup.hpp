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
#include "trireme/plan/rank_profiles.hpp"
#include "trireme/setup/gpu_clocks.hpp"
#include "trireme/setup/plan_origin.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/profiled_kernels.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/simulated_device.hpp"
#include "trireme/setup/slow_ranks.hpp"
#include "trireme/setup/step_samples.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::cache {
class SampleCache;
}
namespace trireme::rank {
class RankGpu;
}

namespace trireme::setup {

// Summary of the steps of a run up to a checkpoint. Checkpoints store this summary.
struct EarlierSteps {
    std::size_t count = 0;                  // number of these steps
    std::optional<double> first_loss = {};  // empty if unknown, or if no step had a loss
    // Per rank: skipped fraction of its matmuls, summed over the steps. Empty if no rank has skipped matmuls.
    std::vector<double> skipped = {};
};

// Options, model and data of a run. Constant after set-up.
struct Job {
    config::RunConfig config;
    model::ModelConfig model;
    std::optional<checkpoint::StoredModel> stored_model;  // source of parameters; empty for random parameters
    std::optional<data::Corpus> corpus;                   // empty for a ghost run with synthetic samples
    std::optional<data::Tokenizer> tokenizer;  // tokenizer of the corpus; empty if the corpus has none
    data::SampleIndex samples;
    data::BatchRules train_rules, validation_rules;
    device::DType dtype = device::DType::f32;
    device::MemorySpace memory_space = device::MemorySpace::host;  // memory space of tensors
    layout::BucketRules buckets = {};
    // Steps of the whole run with --batch samples, including those before a resume; 0 for an evaluation. With
    // --batch-policy grow, the run has fewer steps: see StepSamples::count_steps().
    std::size_t steps = 0;
    bool resumes = false;                        // `stored_model` is a checkpoint of this run
    std::optional<std::size_t> kept_steps = {};  // steps whose records stay; empty for a new run directory
    std::size_t completed_steps = 0;  // number of steps up to the checkpoint; 0 if the run does not resume
    EarlierSteps earlier_steps = {};  // summary of the completed steps
    std::string rate_change = {};     // for users: how a resumed run changes its learning rates; may be empty
    // Devices of --cluster. Empty if --cluster is unset; kernels then take their real time.
    std::optional<SimulatedDevices> devices = {};
    // With --elastic length, per rank: the bytes that it may use. Otherwise empty.
    std::vector<std::size_t> memory_limits = {};
    RankKernels kernels = {};  // kernel times from the files of --profile; may be empty
    // The files of --profile. Null without this option, and in a simulation, which uses only their kernels.
    std::shared_ptr<const plan::RankProfiles> profiles = {};
    std::optional<plan::ClockCosts> clock_costs = {};  // those of the file that --clock-costs names, if any
    // Outputs of frozen layers, per rank: see find_cache(). Empty without --cache, and before the run begins.
    std::vector<std::shared_ptr<cache::SampleCache>> caches = {};
    std::shared_ptr<rank::RankGpu> gpu = {};  // GPU of this rank, if any; shared by copies of the job
    std::vector<GpuClocks> gpu_clocks = {};   // per rank; empty without GPUs
    SlowRun slow_run = {};                    // emulated slow ranks (--slow), which no policy may read
    std::vector<int> nodes = {};              // per rank: the lowest rank on its node; by default, 0

    int ranks() const { return static_cast<int>(nodes.size()); }
};

// A recomputation that all micro-batches of a step may have.
struct StepLevel {
    plan::Recompute level = plan::Recompute::none;  // minimum of all stages that can execute it
    std::vector<plan::Recompute> recompute = {};    // per stage
    stage::BatchShape largest_microbatch = {};      // that fits into memory with this recomputation
};

// The current plan and the values that follow from it. A change of plan replaces the whole struct.
struct PlanState {
    plan::Plan plan;
    StepSamples samples = {};
    // Maximum number of samples per micro-batch in evaluations. This maximum applies to training, too, unless
    // micro-batches are formed by time.
    std::size_t microbatch_samples = 1;
    std::size_t max_microbatch_rows = 0;  // set only if micro-batches are formed by time; otherwise 0
    // The recomputations among which each step chooses, from the lowest to the highest. Higher ones allow
    // larger micro-batches. Empty if all steps have the recomputation of the plan.
    std::vector<StepLevel> step_levels = {};
    // The largest micro-batch of training, then the largest of evaluations; each is present only if it occurs.
    std::vector<stage::BatchShape> largest_microbatches = {};
    std::vector<StepLimit> step_limits = {};  // per rank; empty without --elastic length
    stage::GradientPlan gradients = {};       // see make_gradient_plan()
};

struct Setup {
    Job job;
    PlanState current;  // the plan with which the run begins
    PlanOrigin origin = {};
    bool resumes_resizing = false;  // ranks begin with the pruned channels of the checkpoint
};

device::DType to_dtype(config::Precision precision);
device::MemorySpace find_memory_space(config::DeviceKind device);  // memory space of tensors

// Returns the maximum number of tokens of a sample: --max-length if set, otherwise the model's positions.
// Throws ConfigError if --max-length exceeds the model's positions.
std::size_t compute_max_sample_length(const config::RunConfig& config, const model::ModelConfig& model);
// Throws ConfigError if --freeze cannot be combined with other options.
void check_freezing(const config::RunConfig& config);
// Throws ConfigError if --batch exceeds 2^24 samples.
void check_batch_size(const config::RunConfig& config);

// Returns the number of samples in the largest micro-batch of a plan for `batch` samples per step.
std::size_t count_microbatch_samples(std::size_t batch, const plan::Plan& plan);

// Throws ConfigError if a step of `batch` samples has fewer samples than micro-batches, unless micro-batches
// are formed by time. The message explains their number with `request`, from which `plan` was made.
void check_batch_is_enough(const config::RunConfig& config, const plan::Plan& plan, const PlanRequest& request,
                           std::size_t batch);

// Sets up training on `ranks` ranks. Parameters come from the checkpoint at path `checkpoint` if set, otherwise
// from --init. Throws ConfigError if options cannot be used. With a checkpoint, the caller must also call
// check_coming_steps() when it has set Job::completed_steps. Not collective.
Setup set_up(const config::RunConfig& config, int ranks,
             const std::optional<std::string>& checkpoint = std::nullopt);
// Sets up a run whose steps are predicted, not executed. Time need not be simulated if --cluster is set.
Setup set_up_forecast(const config::RunConfig& config, int ranks);
// Sets up an evaluation of the stored model config.resume on `ranks` ranks. Throws ConfigError if options or
// the model cannot be used, or if there are no samples to evaluate. Not collective.
Setup set_up_evaluation(const config::EvaluateConfig& config, int ranks);
// Returns the slow ranks of --slow and the steps in which they are slow. Throws ConfigError if --slow or a
// trace file cannot be used.
SlowRun make_slow_run(const Job& job, int ranks);

// Collective over `control`. Throws ConfigError on every rank if ranks have opened different corpora or
// different checkpoints, or have made different plans. Does nothing in a simulation, whose ranks share one
// process and its files.
void require_same_setup(comm::Communicator& control, const Setup& setup);

}  // namespace trireme::setup
