// The records of a run as its directory holds them. Their fields are listed in src/records/record_fields.hpp,
// which the writer and the reader share. A figure that is not set, and a text or list that is empty, is absent
// from the file.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "trireme/config/emulation.hpp"
#include "trireme/records/figures.hpp"
#include "trireme/setup/peak_rate.hpp"

namespace trireme::records {

using Figure = std::optional<double>;

// manifest.json: what a run was made with and on.
struct Manifest {
    std::string version, mpi_library, started;
    std::optional<std::string> corpus, corpus_checksum;  // empty texts for a run without a corpus
    std::string model;
    std::string layout, schedule, plan;   // as JSON, its name, its hash
    std::vector<std::string> hosts;       // of each rank
    std::vector<std::string> cores = {};  // that each rank may run on, as a list; empty: no rank is a process
    std::string device;                   // "cpu", and the processor's name
    int threads = 0;                      // per rank; 0: not recorded
    std::string gpu_messages = {};        // "NCCL 2.28.9": how GPUs send to each other; empty: they do not
    std::size_t parameters = 0;
    std::size_t batch = 0;                            // samples of a step
    std::size_t microbatches = 0;                     // of a step, of all replicas
    std::string dtype = {}, sums = {};                // type of numbers, and type in which they are summed
    std::optional<std::size_t> tokens_of_image = {};  // rows per image of a model that reads images
    setup::PeakRate peak = {};
    std::string resumed_from = {};  // the checkpoint; empty: the run began at its beginning
    std::vector<config::SlowRank> slow = {};
    std::string gpu_driver = {};         // its version on rank 0's node; empty: not known
    std::vector<int> ranks_of_gpu = {};  // of each rank: how many share its GPU, and what that consumes
    std::string kernel_times =
        {};  // of a simulated run, where they were measured; empty: by the device's rates
};

// A line of starts.jsonl.
struct StartLine {
    std::string started;  // UTC time
    std::string job;      // the Slurm job
    std::optional<int> restarts = {};
    std::optional<std::size_t> behind_step = {};
};

// Lists of a step's line with an entry per rank, in seconds. `slowness` is a factor.
struct RankLists {
    std::vector<double> compute_s, products_s, wait_s, wait_pipeline_s, wait_tensor_s, wait_data_s;
    std::vector<double> slowness;
};

// A line of steps.jsonl: a step. Shares are from 0 to 1.
struct StepLine {
    Figure step;
    Figure loss;
    Figure tokens, padded_tokens;
    Figure seconds;
    std::string clock;  // "wall" or "simulated"
    Figure tokens_per_s, mfu, mfu_causal, bubble;
    Figure bubble_schedule, wait_tensor, wait_data, wait_other;  // the parts of the bubble
    RankLists ranks;                                             // empty for a run of one rank
    Figure comm_wait_s, energy_j;                                // mean over the ranks; of all ranks
    GpuStates gpus;
    Figure grad_norm, lr, peak_bytes;
    bool is_skipped = false;
    std::string non_finite;  // describes the first value that was not finite
    std::optional<bool> is_rolled_back;
    std::string plan;  // its hash
};

// A line of steps.jsonl: an evaluation after `step` steps.
struct EvaluationLine {
    Figure step;
    Figure loss, accuracy, exact_match, f1;
};

// summary.json: figures of merit, each beside its limit. Shares are from 0 to 1.
struct Summary {
    std::string verdict, reason;  // "VALID" or "INVALID"
    std::vector<std::string> approximations, remarks;
    std::string slowed;  // which ranks were slowed on purpose
    Figure stopped_behind;
    std::string stopped_because;
    std::string clock;  // "wall" or "simulated"
    Figure steps, earlier_steps, skipped_steps, rolled_back;
    Figure first_loss, last_loss, validation_loss;
    Figure accuracy, exact_match, f1;  // of the validation
    Figure seconds, median_step_s, last_step_s;
    Figure tokens, tokens_per_s, images_per_s;
    Figure padding;  // share of the computed tokens
    Figure flops_per_s, peak_flops_per_s;
    std::string peak_is;
    Figure mfu, mfu_causal;
    std::string mfu_formula;
    Figure bubble, bubble_limit;
    Figure bubble_schedule, wait_tensor, wait_data, wait_other;  // the parts of the bubble
    Figure comm_wait_s;                                          // mean over the ranks
    Figure energy_j;                                             // of all ranks
    std::vector<double> energy_j_of_ranks;
    Figure checkpoints, save_stall_s, save_waited_s;
    Figure plan_changes, plan_change_s, moved_bytes;
    Figure looks, look_s, look_share;
    Figure grown_bytes, predicted_bytes;  // of one rank
};

// Record is one of the structs above, or EarlyEnd. The JSON has the fields in the order in which the file has
// them.
template <class Record>
nlohmann::ordered_json to_json(const Record& record);

// Absent and null fields keep their defaults. Throws ConfigError if a field is of another kind than its member,
// naming `place` ("runs/a/steps.jsonl, line 3").
template <class Record>
Record read_record(const nlohmann::json& json, const std::string& place);

// Returns nothing if a field is of another kind than its member.
template <class Record>
std::optional<Record> try_read_record(const nlohmann::json& json);

}  // namespace trireme::records
