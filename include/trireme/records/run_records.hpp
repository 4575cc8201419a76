// The records in a run directory, and their conversion from and to JSON. Writer and reader share the list of
// fields in src/records/record_fields.hpp. Unset figures, empty texts and empty lists are absent from the
// files, unless a comment says otherwise.
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

using Figure = std::optional<double>;  // a number of a record; unset if the record lacks it

// manifest.json: the program, the model, the plan and the machine of a run.
struct Manifest {
    std::string version, mpi_library, started;  // `started` is a UTC time
    std::optional<std::string> corpus;  // path; "" if the run has no corpus; unset if the file lacks the entry
    std::optional<std::string> corpus_checksum;
    std::string model;
    std::string layout, schedule, plan;   // JSON of the layout, name of the schedule, hash of the plan
    std::vector<std::string> hosts;       // per rank, name of the node
    std::vector<std::string> cores = {};  // per rank, list of usable cores; empty for ghosts
    std::string device;                   // kind and name of the device, such as "cpu (...)"
    int threads = 0;                      // per rank; 0 if not recorded
    std::string gpu_messages = {};        // transport between GPUs, such as "NCCL 2.28.9"; empty without GPUs
    std::size_t parameters = 0;
    std::size_t batch = 0;                            // samples per step
    std::size_t microbatches = 0;                     // per step, over all replicas
    std::string dtype = {};                           // type of the parameters
    std::string sums = {};                            // type of the accumulators
    std::optional<std::size_t> tokens_of_image = {};  // tokens per image, for a model that reads images
    setup::PeakRate peak = {};
    std::string resumed_from = {};  // path of the checkpoint; empty if the run began at its first step
    std::vector<config::SlowRank> slow = {};  // ranks that --slow slows
    std::string gpu_driver = {};              // version on rank 0's node; empty if unknown
    std::vector<int> ranks_of_gpu = {};       // per rank: number of ranks that use the same GPU
    std::string kernel_times = {};  // source of simulated kernel times; empty if derived from device rates
    std::vector<std::size_t> memory_limits = {};  // bytes per rank; empty without --elastic length
};

// A line of starts.jsonl: one start of the run.
struct StartLine {
    std::string started;                         // UTC time
    std::string job;                             // number of the Slurm job; empty without Slurm
    std::optional<int> restarts = {};            // how often Slurm has requeued the job
    std::optional<std::size_t> after_step = {};  // number of steps completed before this start
};

// The lists in a line of steps.jsonl, with one entry per rank. Waits are explained at plan::RankWaits.
struct RankLists {
    std::vector<double> compute_s, matmuls_s;  // seconds in all kernels, and in matmuls of transformer blocks
    std::vector<double> wait_s, wait_pipeline_s, wait_tensor_s, wait_data_s;  // seconds; wait_s is the sum
    std::vector<double> slowness;  // matmul time relative to other ranks; 1 for a rank that is not slow
};

// A line of steps.jsonl: a step. Fractions are from 0 to 1.
struct StepLine {
    Figure step, loss;
    Figure tokens, padded_tokens;
    Figure microbatches;  // number of micro-batches that have samples, over all replicas
    Figure frozen, forward_layers, backward_layers, reduced_bytes, moment_bytes;  // see StepWorkCounts
    Figure cached_layers, cache_hits, cache_misses, cache_bytes;  // see StepWorkCounts; only with a cache
    Figure seconds, predicted_s;
    Figure predicted_bytes;  // on the rank that needs the most memory in this step
    Figure limit_bytes, deficit_bytes, recomputed_bytes, offloaded_bytes;  // see setup::StepFit
    Figure planning_s;      // planning time on the rank that writes the record; empty in simulations
    std::string recompute;  // of all micro-batches; empty unless steps choose it
    ElasticDecision elastic;
    std::string clock;  // "wall" or "simulated"
    Figure tokens_per_s, mfu, mfu_causal, bubble;
    Figure bubble_schedule, wait_tensor, wait_data, wait_other;  // the parts of the bubble
    RankLists ranks;                                             // empty for a run of one rank
    Figure comm_wait_s;                                          // mean over the ranks
    Figure energy_j;                                             // sum over the ranks
    EnergyParts<Figure> energy_phases_j;                         // sums over the ranks
    GpuStates gpus;
    Figure grad_norm, lr, peak_bytes;
    bool is_skipped = false;             // no update, because a value was not finite
    std::string first_non_finite;        // describes the first value that was not finite
    std::optional<bool> is_rolled_back;  // true if the speculative update was rolled back
    std::string plan;                    // hash of the plan
};

// A line of steps.jsonl: an evaluation after `step` steps.
struct EvaluationLine {
    Figure step;
    Figure loss, accuracy, exact_match, f1;
};

// summary.json: the figures of merit and their limits. Fractions are from 0 to 1.
struct Summary {
    std::string verdict, reason;                       // "VALID" or "INVALID"; why INVALID
    std::vector<std::string> approximations, remarks;  // why losses are not exact; other remarks
    std::string emulated_slowness;                     // describes the ranks that --slow slows
    Figure stopped_after;                              // number of steps after which the run stopped
    std::string stop_reason;
    std::string clock;                                                // "wall" or "simulated"
    Figure steps, earlier_steps, skipped_steps, rolled_back_updates;  // earlier_steps: of earlier starts
    Figure steps_fitted_to_memory;
    Figure kept, fitted_to_memory, grown, shrunk, rearranged;  // decisions by outcome: see ElasticDecision
    Figure first_loss, last_loss, validation_loss;
    Figure accuracy, exact_match, f1;  // on the validation samples
    Figure seconds, median_step_s, last_step_s;
    Figure tokens, tokens_per_s, images_per_s;
    Figure padding;  // padding tokens as a fraction of the computed tokens
    Figure flops_per_s, peak_flops_per_s;
    std::string peak_description;
    Figure mfu, mfu_causal;  // with the whole square of attention scores, and without its masked half
    std::string mfu_formula;
    Figure bubble, bubble_limit;
    Figure bubble_schedule, wait_tensor, wait_data, wait_other;  // the parts of the bubble
    Figure comm_wait_s;                                          // mean over the ranks
    Figure energy_j;                                             // sum over the ranks
    std::vector<double> energy_j_of_ranks;
    Figure median_step_j, last_step_j;  // of all ranks
    // A step before --energy set clocks; and the fewest joules in the same time, see setup::StepFigures.
    Figure step_s_before_clocks, step_j_before_clocks, min_step_j;
    EnergyParts<std::vector<double>> energy_phases_j;
    // Number of checkpoints; seconds for which they blocked rank 0; and the part of these seconds that rank 0
    // waited for the previous checkpoint.
    Figure checkpoints, save_stall_s, save_waited_s;
    Figure plan_changes, plan_change_s, moved_bytes;
    // Number of times that the policy read the observations and kept the plan, the seconds of these looks, and
    // these seconds as a fraction of the time of the steps.
    Figure looks, look_s, look_share;
    Figure growth_bytes;     // memory growth of the rank whose memory grew most
    Figure predicted_bytes;  // predicted memory of the rank that needs the most memory
};

// Converts a record to JSON, with the fields in the order of the file. Record is one of the structs above, or
// EarlyEnd of figures.hpp.
template <class Record>
nlohmann::ordered_json to_json(const Record& record);

// Reads a record. Absent and null fields keep their defaults. Throws ConfigError if a field has another type
// than its member. The message names `source`, such as "runs/a/steps.jsonl, line 3".
template <class Record>
Record read_record(const nlohmann::json& json, const std::string& source);

// Same as read_record(), but returns nothing if a field has another type than its member.
template <class Record>
std::optional<Record> try_read_record(const nlohmann::json& json);

}  // namespace trireme::records
