// All settings of a run, one struct per subject. Option names match field names.
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
    std::size_t max_length = 0;  // tokens; 0: the model's positions
    data::LongRows long_rows = data::LongRows::split;
    double validation_share = 0.02;
    double epochs = 0;         // 0: --steps decides
    bool document_end = true;  // true for --document-end eos, false for none
};

// A model, and individual sizes that override its own.
struct ModelChoice {
    std::string name;             // a known name or a config.json; if empty, the model of `init`, or gpt2-tiny
    std::string init = "random";  // "random", or the path of a stored model to start from (see StoredModel)
    std::optional<std::size_t> layers, width, heads, groups, mlp_width, positions, vocabulary, labels, channels,
        image_size, patch;
    std::optional<bool> tied;
    std::optional<double> dropout;
};

// The training task and its loss.
struct TaskConfig {
    std::optional<Task> task;    // if unset, the task that model and corpus have in common
    double mask_share = 0.15;    // fraction of the tokens that are masked, for Task::masked
    double label_smoothing = 0;  // label smoothing in training, for Task::classify
};

struct LayoutConfig {
    int pipe = 1;                       // number of ranks in a pipeline; each holds one stage per chunk
    int data = 0;                       // number of data-parallel replicas; 0: as many as the ranks allow
    int tensor = 1;                     // number of ranks per tensor group
    std::string layout;                 // path of a layout file in place of a grid; may be empty
    std::string partition = "uniform";  // see cut_layers(); from the profile: "measured" (balanced_cuts()) or
                                        // "pipedream" (share_layers())
    std::uint64_t memory_limit = 0;     // bytes per rank; 0: no limit
    bool sequence_parallel = false;
    bool shard_optimizer = true;
    std::vector<plan::Recompute> recompute = {plan::Recompute::none};  // one for all stages, or one per stage
};

struct ScheduleConfig {
    std::string schedule = "1f1b";  // name of a schedule, or path of a file with programs
    int chunks = 1;                 // stages per rank; zb-v has 2
    std::size_t microbatches = 1;   // per step, and per replica of a grid; for a layout file the total
    plan::LengthPolicy length = plan::LengthPolicy::pad;
};

// Method of charging simulated time to ghosts: kernel by kernel, or pass by pass, where a pass takes as long as
// an equal one before it. `automatic` chooses kernels for few ranks and passes for many.
enum class Charging : std::uint8_t { automatic, kernels, passes };

// The network of a simulated cluster: as described, or one whose messages take no time.
enum class NetworkKind : std::uint8_t { described, free };

struct CostConfig {
    std::vector<ProfileFile> profiles = {};
    std::string cluster = {};  // path of the cluster file of a simulated run (plan/cluster.hpp); may be empty
    NetworkKind network = NetworkKind::described;
    Charging charging = Charging::automatic;
    std::vector<schedule::StageCost> stages = {};  // one for all, or per stage; empty: profile or equal costs
};

// `ghost` computes shapes and costs only, in simulated time. `automatic` means cuda if every rank has a GPU,
// and otherwise cpu.
enum class DeviceKind : std::uint8_t { reference, cpu, cuda, ghost, automatic };
enum class Precision : std::uint8_t { f32, f64, bf16 };  // bf16 needs GPUs or ghosts

struct PrecisionConfig {
    Precision dtype = Precision::f32;
    DeviceKind device = DeviceKind::automatic;
    std::string device_words = {};  // names of the chosen GPUs, or why no GPU is used; may be empty
};

enum class OnNan : std::uint8_t { stop, skip };
enum class OnSaveError : std::uint8_t { stop, go_on };

struct RunOptions {
    std::size_t steps = 0;         // 0: --epochs decides
    std::size_t batch = 8;         // samples per step over all replicas
    bool is_batch_set = false;     // set by --batch or by fit_default_batch()
    bool is_batch_raised = false;  // raised above the default by fit_default_batch()
    std::uint64_t seed = 1;
    std::string run_dir;               // empty: runs/<model>-<date and time>
    std::size_t eval_every = 0;        // steps between evaluations; 0: only after the last step
    std::size_t log_every = 1;         // steps between lines on the console
    std::size_t checkpoint_every = 0;  // steps between checkpoints; 0: only after the last step
    std::size_t keep = 0;              // number of newest checkpoints to keep; 0: all
    std::string resume = "off";        // "off", "auto", or the path of a checkpoint or run directory
    OnSaveError on_save_error = OnSaveError::stop;
    double stall_timeout = 60;  // seconds
    double time_limit = 0;      // seconds; the run stops with a checkpoint before they are over; 0: no limit
    OnNan on_nan = OnNan::stop;
    int gpu_clock = 0;  // MHz at which each rank's GPU is held during the run; 0: unchanged
    device::TracedSteps trace;
    bool dry_run = false;
    bool quiet = false;
    bool verbose = false;
    int threads = 0;  // threads per rank; 0: cores / ranks on the node
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
    std::string resolved;  // every option with its value as an INI file; becomes config.ini
    SavedOptions options;  // every option with its value, for the run's checkpoints
    std::optional<ResumedOptions> resumed = {};  // set if the run took its options from a checkpoint
};

// Settings of `trireme evaluate`. It ignores the training settings in `run`.
struct EvaluateConfig {
    RunConfig run;
    std::string resume;            // path of the stored model; see StoredModel
    bool only_validation = false;  // use only the rows that training keeps for validation, not all rows
    std::string output;            // path of a JSON file for the figures; empty: no file
};

}  // namespace trireme::config
