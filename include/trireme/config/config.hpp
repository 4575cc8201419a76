// All settings of a run, one struct per subject. Most options have the name of their field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/base/job.hpp"
#include "trireme/base/task.hpp"
#include "trireme/config/emulation.hpp"
#include "trireme/config/policy_config.hpp"
#include "trireme/config/profile_files.hpp"
#include "trireme/config/saved_options.hpp"
#include "trireme/data/sample_index.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/model/config.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/plan/microbatch.hpp"
#include "trireme/plan/recompute.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::config {

struct DataConfig {
    std::string corpus;
    std::size_t max_length = 0;                        // in tokens; 0: the number of positions of the model
    data::LongRows long_rows = data::LongRows::split;  // treatment of samples that are longer than max_length
    double validation_fraction = 0.02;  // fraction of the rows of the corpus that are kept for validation
    data::SampleOrder order = data::SampleOrder::shuffled;  // order of the samples within an epoch
    double epochs = 0;                                      // 0: the run ends after RunOptions::steps steps
    bool has_document_end = true;  // an end-of-text token is appended to each row (--document-end eos)
};

// A model, and individual settings that override those of the model.
struct ModelChoice {
    std::string name;  // known name or path of a config.json; empty: the model of `init`, else gpt2-tiny
    std::string init = "random";  // "random", or the path of a stored model to start from (see StoredModel)
    std::optional<std::size_t> layers, width, heads, groups, mlp_width, positions, vocabulary, labels, channels,
        image_size, patch;     // `groups` is the number of key-value heads (GQA)
    std::optional<bool> tied;  // input and output embeddings share their weights
    std::optional<double> dropout;
};

// The training task and its loss.
struct TaskConfig {
    std::optional<Task> task;     // if unset, the task that model and corpus have in common
    double mask_fraction = 0.15;  // fraction of the tokens that are masked, for Task::masked
    double label_smoothing = 0;   // label smoothing in training, for Task::classify
};

struct LayoutConfig {
    int pipe = 1;        // tensor groups per pipeline; a tensor group holds one stage per chunk
    int data = 0;        // number of data-parallel replicas; 0: the largest number that the ranks allow
    int tensor = 1;      // number of ranks per tensor group
    std::string layout;  // path of a layout file, which replaces pipe, data and tensor; may be empty
    std::string partition = "uniform";  // see cut_layers(), find_balanced_cuts() and plan_pipedream_layout()
    std::uint64_t memory_limit = 0;     // bytes per rank; 0: no limit
    bool sequence_parallel = false, shard_optimizer = true;
    std::vector<plan::Recompute> recompute = {plan::Recompute::none};  // one for all stages, or one per stage
    int frozen = 0;                                                    // see plan::Plan
};

struct ScheduleConfig {
    std::string schedule = "1f1b";  // name of a schedule, or path of a file with programs
    int chunks = 1;                 // stages per rank; schedule zb-v always has 2
    std::size_t microbatches = 1;   // per step and replica; with a layout file, per step over all replicas
    plan::LengthPolicy length = plan::LengthPolicy::pad;
};

// The work for which ghosts (DeviceKind::ghost) charge simulated time: each kernel, or each pass of a stage. A
// pass reuses the time of an earlier equal pass. `automatic` means kernels for few ranks, passes for many.
enum class Charging : std::uint8_t { automatic, kernels, passes };

// The network of a simulated cluster: as the cluster file describes it, or one whose messages take no time.
enum class NetworkKind : std::uint8_t { described, zero_time };

struct CostConfig {
    std::vector<ProfileFile> profiles = {};
    std::string cluster = {};  // path of the cluster file of a simulated run (plan/cluster.hpp); may be empty
    NetworkKind network = NetworkKind::described;
    Charging charging = Charging::automatic;
    std::vector<schedule::StageCost> stages = {};  // one for all stages, or one per stage; may be empty
};

// `reference` has simple loops, `ghost` only shapes and costs. `automatic` prefers cuda to cpu.
enum class DeviceKind : std::uint8_t { reference, cpu, cuda, ghost, automatic };
enum class Precision : std::uint8_t { f32, f64, bf16 };  // bf16 needs GPUs or ghosts

struct PrecisionConfig {
    Precision dtype = Precision::f32;
    DeviceKind device = DeviceKind::automatic;
    std::string device_description = {};  // names of the chosen GPUs, or why no GPU is used; may be empty
    std::vector<std::size_t> free_gpu_memory = {};    // bytes per rank when the run begins; empty on CPUs
    std::vector<std::size_t> usable_gpu_memory = {};  // per rank: the same, but without a reserve
};

enum class OnNan : std::uint8_t { stop, skip };
enum class OnSaveError : std::uint8_t { stop, continue_run };

struct RunOptions {
    std::size_t steps = 0;         // 0: the run ends after DataConfig::epochs epochs
    std::size_t batch = 8;         // samples per step over all replicas
    bool is_batch_set = false;     // true if --batch or fit_default_batch() has set `batch`
    bool is_batch_raised = false;  // true if fit_default_batch() has raised `batch` above the default
    std::uint64_t seed = 1;
    std::string run_dir;               // empty: runs/<model>-<date and time>
    std::size_t eval_every = 0;        // steps between evaluations; 0: only after the last step
    std::size_t log_every = 1;         // steps between lines on the console
    std::size_t checkpoint_every = 0;  // steps between checkpoints; 0: only after the last step
    std::size_t keep = 0;              // number of newest checkpoints to keep; 0: all
    std::string resume = "off";        // "off", "auto", or the path of a checkpoint or run directory
    OnSaveError on_save_error = OnSaveError::stop;  // what happens if a checkpoint cannot be saved
    double stall_timeout = 60;   // seconds that a rank waits for another rank before the run fails
    double time_limit = 0;       // seconds; before the limit the run stops with a checkpoint; 0: no limit
    OnNan on_nan = OnNan::stop;  // what happens if the loss or the gradient norm is not finite
    int gpu_clock = 0;           // MHz to which the clock of each rank's GPU is locked; 0: not locked
    device::TracedSteps trace;   // steps that are traced
    bool dry_run = false;        // check everything, print the plan, and exit
    bool quiet = false, verbose = false;
    int threads = 0;  // per rank; 0: the cores of the node divided by its ranks
};

struct RunConfig {
    DataConfig data;
    ModelChoice model;
    TaskConfig task;
    optim::OptimizerConfig optimizer;
    LayoutConfig layout;
    ScheduleConfig schedule;
    PolicyConfig policy;
    CostConfig costs;
    EmulationConfig emulation;
    PrecisionConfig precision;
    RunOptions run;
    SlurmJob job;          // the Slurm job in which the run executes
    std::string ini_text;  // every option with its value, as text of an INI file; written to config.ini
    SavedOptions options;  // every option with its value, as stored in checkpoints
    std::optional<ResumedOptions> resumed_options = {};  // set if the run took its options from a checkpoint
};

// Settings of `trireme evaluate`, which ignores the training settings in `run`.
struct EvaluateConfig {
    RunConfig run;
    std::string resume;            // path of the stored model; see StoredModel
    bool only_validation = false;  // evaluates only the rows that training keeps for validation
    std::string output;            // path of a JSON file for the results; empty: no file
};

}  // namespace trireme::config
