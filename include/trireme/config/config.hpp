// Everything a run is told, one struct per room. Option names match field names.
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
    std::size_t max_length = 0;  // 0: the model's positions
    data::LongRows long_rows = data::LongRows::split;
    double validation_share = 0.02;
    double epochs = 0;         // 0: --steps decides
    bool document_end = true;  // --document-end eos | none
};

// A model, and the single sizes that override it.
struct ModelChoice {
    std::string name;             // a known name or a config.json; empty: that of `init`, or gpt2-tiny
    std::string init = "random";  // or a stored model to start from: see StoredModel
    std::optional<std::size_t> layers, width, heads, groups, mlp_width, positions, vocabulary, labels, channels,
        image_size, patch;
    std::optional<bool> tied;
    std::optional<double> dropout;
};

// What is learned, and how its loss is made.
struct TaskConfig {
    std::optional<Task> task;    // none: what model and corpus have in common
    double mask_share = 0.15;    // of the tokens, Task::masked
    double label_smoothing = 0;  // of the classes in training, Task::classify
};

struct LayoutConfig {
    int pipe = 1;                       // stages in a row, times the chunks
    int data = 0;                       // replicas; 0: as many as the ranks allow
    int tensor = 1;                     // ranks that share a replica's tensors
    std::string layout;                 // a layout.json in place of a grid; empty: none
    std::string partition = "uniform";  // see cut_layers(); or by the profile: measured, see balanced_cuts(),
                                        // or pipedream, see share_layers()
    std::uint64_t memory_limit = 0;     // bytes of a rank; 0: none
    bool sequence_parallel = false;
    bool shard_optimizer = true;
    std::vector<plan::Recompute> recompute = {plan::Recompute::none};  // of all stages, or of each
};

struct ScheduleConfig {
    std::string schedule = "1f1b";  // a name or a file of programs
    int chunks = 1;                 // stages of a rank; zb-v has 2
    std::size_t microbatches = 1;   // of a step, per replica of a grid, or in all for a layout file
    plan::LengthPolicy length = plan::LengthPolicy::pad;
};

// How ghosts are charged for a pass: kernel by kernel, or, like an earlier one, as a whole, as many ranks are.
enum class Charging : std::uint8_t { automatic, kernels, passes };

// Of a simulated cluster: as it is described, or one whose messages take no time.
enum class NetworkKind : std::uint8_t { described, free };

struct CostConfig {
    std::vector<ProfileFile> profiles = {};  // empty: none
    std::string cluster = {};                // of a simulated run, a file: see plan/cluster.hpp; empty: none
    NetworkKind network = NetworkKind::described;
    Charging charging = Charging::automatic;
    std::vector<schedule::StageCost> stages = {};  // of all, or of each; none: by the profile, or equal
};

// ghost: shapes and costs alone, in simulated time. automatic: what all ranks have.
enum class DeviceKind : std::uint8_t { reference, cpu, cuda, ghost, automatic };
enum class Precision : std::uint8_t { f32, f64, bf16 };  // bf16: of GPUs and ghosts

struct PrecisionConfig {
    Precision dtype = Precision::f32;
    DeviceKind device = DeviceKind::automatic;
    std::string device_words = {};  // once ranks have chosen: which GPUs, or why none; empty: nothing to say
};

enum class OnNan : std::uint8_t { stop, skip };
enum class OnSaveError : std::uint8_t { stop, go_on };

struct RunOptions {
    std::size_t steps = 0;         // 0: --epochs decides
    std::size_t batch = 8;         // samples per step over all replicas
    bool is_batch_set = false;     // by --batch, or by fit_default_batch()
    bool is_batch_raised = false;  // beyond the default, by fit_default_batch()
    std::uint64_t seed = 1;
    std::string run_dir;               // empty: runs/<model>-<date and time>
    std::size_t eval_every = 0;        // steps; 0: at the end only
    std::size_t log_every = 1;         // steps
    std::size_t checkpoint_every = 0;  // steps; 0: at the end only
    std::size_t keep = 0;              // checkpoints; 0: all
    std::string resume = "off";        // or auto, or a checkpoint, or a run directory
    OnSaveError on_save_error = OnSaveError::stop;
    double stall_timeout = 60;  // seconds
    double time_limit = 0;      // seconds, before which it stops with a checkpoint; 0: none
    OnNan on_nan = OnNan::stop;
    int gpu_clock = 0;  // MHz of each rank's GPU while it runs; 0: as it is
    device::TracedSteps trace;
    bool dry_run = false;
    bool quiet = false;
    bool verbose = false;
    int threads = 0;  // per rank; 0: cores / ranks on the node
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
    SlurmJob job;          // that it runs in
    std::string resolved;  // as an INI file, every option with its value; becomes config.ini
    SavedOptions options;  // the same for its checkpoints
    std::optional<ResumedOptions> resumed = {};  // of a run that took its options from a checkpoint
};

// Of `trireme evaluate`. Of the run, what says how to train is not looked at.
struct EvaluateConfig {
    RunConfig run;
    std::string resume;            // the stored model: see StoredModel
    bool only_validation = false;  // the rows that training keeps for validation; otherwise all rows
    std::string output;            // a JSON file for the figures; empty: none
};

}  // namespace trireme::config
